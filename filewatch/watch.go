package filewatch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
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

// A Reader reads the files. Its methods are called from one goroutine.
type Reader interface {
	// Folders are those to be watched. They may not exist.
	Folders() []string
	// Concerns reports whether a change of the file (or folder) may matter.
	Concerns(name string) bool
	// HalfWritten reports whether a file that said something is empty now, as
	// writers leave it for a moment.
	HalfWritten() bool
	// Refresh reads what has changed.
	Refresh()
}

// Run has the reader read when its files change, and once at the start, until
// ctx is done. what names the files in messages: "the manifests".
func Run(ctx context.Context, log *slog.Logger, what string, reader Reader) {
	w := &watch{reader: reader, log: log, what: what, watched: make(map[string]bool)}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		w.watcher = watcher
		defer watcher.Close()
	} else {
		w.blind(what+" can't be watched; they are read every 2 seconds", err)
	}
	w.run(ctx)
}

// A watch tells a Reader when to read.
type watch struct {
	reader  Reader
	log     *slog.Logger
	what    string
	watcher *fsnotify.Watcher // nil where the system offers none
	watched map[string]bool   // folders
	polling bool              // since something can't be watched
}

func (w *watch) blind(message string, err error) {
	if !w.polling {
		w.polling = true
		w.log.Warn(message, "error", err)
	}
}

// read has the reader read. Where that makes new folders matter, it is done once
// more, since these may have changed before they were watched.
func (w *watch) read() {
	w.watchAll()
	w.reader.Refresh()
	if w.watchAll() {
		w.reader.Refresh()
	}
}

// watchAll watches the folders that are not watched yet, and reports whether
// there were any. Those that are gone have left the watcher by themselves.
func (w *watch) watchAll() (added bool) {
	if w.watcher == nil {
		return false
	}
	for _, folder := range w.reader.Folders() {
		if w.watched[folder] {
			continue
		}
		if err := w.watcher.Add(folder); err != nil {
			if !os.IsNotExist(err) {
				w.blind(fmt.Sprintf("%s can't be watched; %s are read every 2 seconds", folder, w.what), err)
			}
			continue
		}
		w.watched[folder] = true
		added = true
	}
	return added
}

func (w *watch) run(ctx context.Context) {
	var events chan fsnotify.Event
	var errs chan error
	if w.watcher != nil {
		events, errs = w.watcher.Events, w.watcher.Errors
	}
	timer := time.NewTimer(poll)
	timer.Stop()
	var since time.Time // of the first change not yet read
	// What has changed before anybody watched is read now, or, where a writer is at
	// it, in a moment.
	w.watchAll()
	if w.reader.HalfWritten() {
		since = time.Now()
		timer.Reset(emptied)
	} else {
		w.read()
		if w.polling {
			timer.Reset(poll)
		}
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
			if !w.concerns(event.Name) {
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
			w.log.Warn("changes of "+w.what+" may have been missed; they are read anew", "error", err)
			timer.Reset(settle)
		case now := <-timer.C:
			if !since.IsZero() && w.reader.HalfWritten() && now.Sub(since) < patience {
				if rest := since.Add(emptied).Sub(now); rest > 0 {
					timer.Reset(rest)
					continue
				}
			}
			since = time.Time{}
			w.read()
			if w.polling {
				timer.Reset(poll)
			}
		}
	}
}

// concerns reports whether a change of the file may matter to the reader.
func (w *watch) concerns(name string) bool {
	name = filepath.Clean(name)
	// The link behind a mounted ConfigMap or Secret, which the kubelet renames.
	return strings.HasPrefix(filepath.Base(name), "..") || w.reader.Concerns(name)
}
