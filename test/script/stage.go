package script

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources"
	"github.com/clusterzone/clusterzone/sources/manifest"
	"github.com/clusterzone/clusterzone/zones"
)

// A stage is the pipeline of one story, from objects to replies, with a clock
// that moves one second on at each event.
type stage struct {
	now    time.Time
	store  *zones.Store
	feed   *sources.Feed
	kinds  []sources.Kind
	answer Answer

	objects map[objectID]metav1.Object
	broken  map[sources.Kind]bool
	noSync  bool // apply syncs nothing by itself any more
	serials map[zones.Name]uint32
	crowded int // how many objects the crowd has
}

type objectID struct {
	kind            sources.Kind
	namespace, name string
}

// apply applies the objects of files, as kubectl apply does: an object that is
// there keeps its age, and its status where the file has none.
func (s *script) apply(files []string) error {
	for _, name := range files {
		content, ok := s.files[name]
		if !ok {
			return fmt.Errorf("there is no file %s", name)
		}
		set, err := manifest.Load([]string{"-"}, bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if findings := set.Findings(); len(findings) > 0 {
			return fmt.Errorf("%s: %s", name, findings[0])
		}
		set.Report(applier{s.stage})
	}
	if !s.stage.noSync {
		return s.stage.sync(nil)
	}
	s.stage.step()
	return nil
}

// An applier takes objects to a stage. It reports no sync: the script does.
type applier struct{ stage *stage }

func (a applier) Set(kind sources.Kind, obj metav1.Object) {
	id := objectID{kind, obj.GetNamespace(), obj.GetName()}
	old := a.stage.objects[id]
	switch {
	case !obj.GetCreationTimestamp().Time.IsZero():
	case old != nil:
		obj.SetCreationTimestamp(old.GetCreationTimestamp())
	default:
		obj.SetCreationTimestamp(metav1.NewTime(a.stage.now))
	}
	if old != nil {
		obj = keepStatus(obj, old)
	}
	a.stage.put(id, obj)
}

func (a applier) Gone(sources.Kind, string, string) {}

func (a applier) Synced(sources.Kind, error) {}

func (g *stage) put(id objectID, obj metav1.Object) {
	g.objects[id] = obj
	g.feed.Set(id.kind, obj)
}

// find returns the object that three words name; "-" is the namespace of those
// without one.
func (g *stage) find(words []string) (objectID, metav1.Object, error) {
	namespace := words[1]
	if namespace == "-" {
		namespace = ""
	}
	for id, obj := range g.objects {
		if strings.EqualFold(string(id.kind), words[0]) && id.namespace == namespace && id.name == words[2] {
			return id, obj, nil
		}
	}
	return objectID{}, nil, fmt.Errorf("there is no %s %s/%s", words[0], words[1], words[2])
}

// status replaces an object's status by what a file says.
func (s *script) status(words []string) error {
	id, obj, err := s.stage.find(words)
	if err != nil {
		return err
	}
	content, ok := s.files[words[3]]
	if !ok {
		return fmt.Errorf("there is no file %s", words[3])
	}
	if obj, err = withStatus(obj, content); err != nil {
		return err
	}
	s.stage.put(id, obj)
	s.stage.step()
	return nil
}

func (g *stage) delete(words []string) error {
	id, _, err := g.find(words)
	if err != nil {
		return err
	}
	delete(g.objects, id)
	g.feed.Gone(id.kind, id.namespace, id.name)
	g.step()
	return nil
}

// sync reports the kinds as synced; without words, all that no problem holds up.
func (g *stage) sync(words []string) error {
	g.noSync = true
	for _, word := range words {
		kind, err := g.kind(word)
		if err != nil {
			return err
		}
		delete(g.broken, kind)
		g.feed.Synced(kind, nil)
	}
	if len(words) == 0 {
		for _, kind := range g.kinds {
			if !g.broken[kind] {
				g.feed.Synced(kind, nil)
			}
		}
	}
	g.step()
	return nil
}

// problem reports that a kind can't be read; as, unless nil, says
// what sort of problem it is.
func (g *stage) problem(words []string, as func(error) error) error {
	kind, err := g.kind(words[0])
	if err != nil {
		return err
	}
	problem := errors.New(strings.Join(words[1:], " "))
	if as != nil {
		problem = as(problem)
	}
	g.broken[kind] = true
	g.feed.Synced(kind, problem)
	g.step()
	return nil
}

func (g *stage) kind(word string) (sources.Kind, error) {
	for _, kind := range g.kinds {
		if strings.EqualFold(string(kind), word) {
			return kind, nil
		}
	}
	return "", fmt.Errorf("no source reads a kind %s", word)
}

// step applies what was reported, and moves the clock on.
func (g *stage) step() {
	g.feed.Apply()
	g.now = g.now.Add(time.Second)
}

// wait lets time pass. The feed wakes as it would by itself.
func (g *stage) wait(words []string) error {
	d, err := time.ParseDuration(words[0])
	g.now = g.now.Add(d)
	g.step()
	return err
}
