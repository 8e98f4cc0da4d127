package manifest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/clusterzone/clusterzone/sources"
)

const (
	// settle is how long a file must be quiet before it is read, so that it is
	// read whole; emptied is the same for one that has just become empty, which
	// writers do first of all.
	settle  = 10 * time.Millisecond
	emptied = 200 * time.Millisecond
	// patience is how long files that don't come to rest are waited for.
	patience = 2 * time.Second
	// poll is how often the files are read where they can't be watched.
	poll = 2 * time.Second
)

// Run reports the objects to the sink, and then what changes in the files until
// ctx is done. Files come to be known in folders as they are made; replaced
// files and links (editors, mounted ConfigMaps) count as changed. It returns nil.
func (s *Set) Run(ctx context.Context, log *slog.Logger, sink sources.Sink) error {
	w := &fileWatch{set: s, log: log, watched: make(map[string]bool)}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		w.watcher = watcher
		defer watcher.Close()
	} else {
		w.blind("the manifests can't be watched; they are read every 2 seconds", err)
	}
	w.watchAll()
	// What has changed since Load, before anybody watched.
	s.reread()
	s.merge()
	w.logNews()
	s.Report(sink)
	w.run(ctx, sink)
	return nil
}

// A fileWatch tells a Set when to read its files anew.
type fileWatch struct {
	set     *Set
	log     *slog.Logger
	watcher *fsnotify.Watcher // nil where the system offers none
	watched map[string]bool   // folders
	polling bool              // since something can't be watched
	said    string            // findings logged last
}

func (w *fileWatch) blind(message string, err error) {
	if !w.polling {
		w.polling = true
		w.log.Warn(message, "error", err)
	}
}

// watchAll watches the folders of all that the paths stand for. Folders that
// are gone have left the watcher by themselves.
func (w *fileWatch) watchAll() {
	if w.watcher == nil {
		return
	}
	for _, path := range w.set.paths {
		if path == stdinPath {
			continue
		}
		path = filepath.Clean(path)
		w.add(filepath.Dir(path))
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			w.add(filepath.Dir(target))
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			// A folder that can't be read is the Set's problem.
			_ = walkFolder(path, 0, func(name string, isFolder bool) {
				if isFolder {
					w.add(name)
				}
			})
		}
	}
}

func (w *fileWatch) add(folder string) {
	if w.watched[folder] {
		return
	}
	if err := w.watcher.Add(folder); err != nil {
		if !os.IsNotExist(err) {
			w.blind(fmt.Sprintf("%s can't be watched; the manifests are read every 2 seconds", folder), err)
		}
		return
	}
	w.watched[folder] = true
}

func (w *fileWatch) run(ctx context.Context, sink sources.Sink) {
	var events chan fsnotify.Event
	var errs chan error
	if w.watcher != nil {
		events, errs = w.watcher.Events, w.watcher.Errors
	}
	timer := time.NewTimer(poll)
	timer.Stop()
	var since time.Time // of the first change not yet read
	if w.polling {
		timer.Reset(poll)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-events:
			if !open {
				events = nil
				continue
			}
			if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
				delete(w.watched, event.Name)
			}
			if !w.concerns(event) {
				continue
			}
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < patience {
				timer.Reset(settle)
			}
		case err, open := <-errs:
			if !open {
				errs = nil
				continue
			}
			// Most likely too many changes at once: some were not told.
			w.log.Warn("changes of manifests may have been missed; they are read anew", "error", err)
			timer.Reset(settle)
		case now := <-timer.C:
			if !since.IsZero() && w.set.halfWritten() && now.Sub(since) < patience {
				if rest := since.Add(emptied).Sub(now); rest > 0 {
					timer.Reset(rest)
					continue
				}
			}
			since = time.Time{}
			w.refresh(sink)
			if w.polling {
				timer.Reset(poll)
			}
		}
	}
}

// concerns reports whether an event may change what the Set says. Of folders
// that are watched for one path only, their other files don't.
func (w *fileWatch) concerns(event fsnotify.Event) bool {
	name := filepath.Clean(event.Name)
	// The link behind a mounted ConfigMap or Secret, which the kubelet renames.
	if strings.HasPrefix(filepath.Base(name), "..") {
		return true
	}
	for _, path := range w.set.paths {
		path = filepath.Clean(path)
		if under(name, path) {
			return true
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && under(name, target) {
			return true
		}
	}
	return false
}

func (w *fileWatch) refresh(sink sources.Sink) {
	w.watchAll()
	if !w.set.reread() {
		return
	}
	w.set.merge()
	w.logNews()
	w.set.Report(sink)
}

// logNews logs findings once, until they change. Problems reach the log through
// the sink.
func (w *fileWatch) logNews() {
	said := ""
	for _, finding := range w.set.Findings() {
		said += finding.String() + "\n"
	}
	ignored := strings.Join(w.set.Ignored(), ", ")
	said += ignored
	if said == w.said {
		return
	}
	w.said = said
	for _, finding := range w.set.Findings() {
		w.log.Warn(finding.Message, "file", finding.File, "line", finding.Line)
	}
	if ignored != "" {
		w.log.Info("the manifests hold kinds that are not read", "kinds", ignored)
	}
}

// halfWritten reports whether a file that said something is empty now.
func (s *Set) halfWritten() bool {
	for _, f := range s.files {
		if len(f.content) == 0 {
			continue
		}
		if info, err := os.Stat(f.path); err == nil && info.Size() == 0 {
			return true
		}
	}
	return false
}
