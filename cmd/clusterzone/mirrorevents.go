package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/sources/cluster"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// emitted are the kinds of events that external-dns has, for --events-emit.
func emitted() []string { return []string{"RecordReady", "RecordDeleted", "RecordError"} }

// Reasons of the events of --events.
const (
	eventBlocked = "DNSMirrorBlocked"
	eventHeld    = "DNSMirrorHeld"
)

// mirrorEvents write Kubernetes events about what mirrors do, on the objects that
// ask for the names.
type mirrorEvents struct {
	pipeline *pipeline
	emit     []string
	// recorder is nil without --events; posts is nil without either flag. They are
	// set before the mirrors run.
	recorder, posts *cluster.Recorder
}

func (e *mirrorEvents) init(p *pipeline, emit []string) { e.pipeline, e.emit = p, emit }

// hook has a mirror tell of single names.
func (e *mirrorEvents) hook(name string, o *mirror.Options) {
	o.OnBlocked = func(zone mirror.Zone, b mirror.Blocked) {
		if e.recorder == nil {
			return
		}
		if object := e.object(b.Resource); object != nil {
			e.recorder.Warn(object, eventBlocked, fmt.Sprintf("mirror %s can't write %s %s to zone %s: %s", name, b.Type, b.Name, zone, b.Message))
		}
	}
	o.OnApplied = func(zone mirror.Zone, c mirror.Change) {
		reason := emitted()[0]
		if c.Verb == mirror.Delete {
			reason = emitted()[1]
		}
		e.record(&c, reason, func(object metav1.Object, posts *cluster.Recorder) {
			posts.Tell(object, reason, fmt.Sprintf("mirror %s, zone %s: %s", name, zone, c.String()))
		})
	}
	o.OnFailed = func(zone mirror.Zone, c mirror.Change, err error) {
		reason := emitted()[2]
		e.record(&c, reason, func(object metav1.Object, posts *cluster.Recorder) {
			posts.Warn(object, reason, fmt.Sprintf("mirror %s, zone %s: %s: %v", name, zone, c.String(), err))
		})
	}
}

// record posts what --events-emit asks for. What is said of ownership records
// stands for the records that they are about, and is left out.
func (e *mirrorEvents) record(c *mirror.Change, reason string, post func(metav1.Object, *cluster.Recorder)) {
	if e.posts == nil || c.Ownership || !slices.Contains(e.emit, reason) {
		return
	}
	if object := e.object(c.Record().Resource); object != nil {
		post(object, e.posts)
	}
}

// object finds the object that an ownership label names; nil where it is gone.
func (e *mirrorEvents) object(resource string) (found metav1.Object) {
	parts := strings.Split(resource, "/")
	if len(parts) < 2 {
		return nil
	}
	owner := zones.Owner{Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		owner.Namespace = parts[1]
	}
	e.pipeline.feed.View(func(_ *zones.Table, object objectOf) {
		for _, source := range e.pipeline.translator.Sources() {
			owner.Source = source
			if strings.TrimPrefix(strings.TrimPrefix(source, "gateway-"), "skipper-") == parts[0] {
				found = object(owner)
				return
			}
		}
	})
	return found
}

// loud are the guards whose holding an operator should hear of: the others pass by
// themselves, or are what a flag asks for.
func loud() []mirror.GuardName {
	return []mirror.GuardName{
		mirror.GuardUnsure, mirror.GuardDoubt, mirror.GuardEmpty, mirror.GuardShare, mirror.GuardEdited, mirror.GuardFlap, mirror.GuardRepeat,
	}
}

// A first sync is worth a line of progress from so many names on.
const longSync = 200

// watch tells of what the guards hold when it comes up, and of the progress of
// long writes, until ctx is done.
func (s *mirrorSet) watch(ctx context.Context) {
	const look, progress = 2 * time.Second, 10 * time.Second
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	held := map[string]bool{}
	var said time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.tellHeld(held)
		if time.Since(said) >= progress && s.tellProgress() {
			said = time.Now()
		}
	}
}

// tellHeld logs and posts what is held by loud guards and was not before.
func (s *mirrorSet) tellHeld(before map[string]bool) {
	now := map[string]bool{}
	for i, status := range s.statuses() {
		for _, zone := range status.Zones {
			counts := zone.HeldBy()
			for _, guard := range loud() {
				key := fmt.Sprint(i, zone.ID, guard)
				if counts[guard] == 0 {
					continue
				}
				if now[key] = true; before[key] {
					continue
				}
				text := fmt.Sprintf("mirror %s, zone %s (%s): %d changes are held (%s): %s", status.Name, zone.Zone, zone.ID, counts[guard], guard, firstWhy(zone.Held, guard))
				s.log.Warn("a mirror holds changes back", "mirror", status.Name, "zone", zone.Zone.String(), "id", zone.ID, "guard", string(guard),
					"changes", counts[guard], "why", firstWhy(zone.Held, guard))
				if lease := s.of[i]; lease != nil && s.events.recorder != nil {
					s.events.recorder.WarnLease(lease, eventHeld, text)
				}
			}
		}
	}
	clear(before)
	for key := range now {
		before[key] = true
	}
}

func firstWhy(held []mirror.Held, guard mirror.GuardName) string {
	for i := range held {
		if held[i].Guard == guard {
			return held[i].Why
		}
	}
	return ""
}

// tellProgress logs how far long writes are; told is false where there are none.
func (s *mirrorSet) tellProgress() (told bool) {
	for _, status := range s.statuses() {
		for _, zone := range status.Zones {
			if zone.Planned >= longSync && zone.Done < zone.Planned && zone.Problem == "" && !status.DryRun {
				s.log.Info("mirroring", "mirror", status.Name, "zone", zone.Zone.String(), "id", zone.ID, "done", zone.Done, "of", zone.Planned)
				told = true
			}
		}
	}
	return told
}

// mirror runs the mirrors until ctx is done.
func (d *daemon) mirror(ctx context.Context) error {
	set := d.pipeline.mirrors
	if d.client != nil && len(d.serving.mirrors.emit) > 0 {
		if set.events.posts = d.events; set.events.posts == nil {
			set.events.posts = cluster.NewRecorder(ctx, d.client, d.log)
		}
	}
	set.events.recorder = d.events
	return set.run(ctx)
}
