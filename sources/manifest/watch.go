package manifest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterzone/clusterzone/filewatch"
	"github.com/clusterzone/clusterzone/sources"
)

// Run reports the objects to the sink, and then what changes in the files until
// ctx is done. Files come to be known in folders as they are made; replaced
// files and links (editors, mounted ConfigMaps) count as changed. It returns nil.
func (s *Set) Run(ctx context.Context, log *slog.Logger, sink sources.Sink) error {
	filewatch.Run(ctx, log, "the manifests", &fileWatch{set: s, log: log, sink: sink})
	return nil
}

// A fileWatch is a Set as the watch sees it.
type fileWatch struct {
	set      *Set
	log      *slog.Logger
	sink     sources.Sink
	reported bool
	said     string // findings logged last
}

// Folders implements filewatch.Reader: the folders of all that the paths stand
// for.
func (w *fileWatch) Folders() []string {
	var folders []string
	for _, path := range w.set.paths {
		if path == stdinPath {
			continue
		}
		path = filepath.Clean(path)
		folders = append(folders, filepath.Dir(path))
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			folders = append(folders, filepath.Dir(target))
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			// A folder that can't be read is the Set's problem.
			_ = walkFolder(path, 0, func(name string, isFolder bool) {
				if isFolder {
					folders = append(folders, name)
				}
			})
		}
	}
	return folders
}

// Concerns implements filewatch.Reader. Of folders that are watched for one path
// only, their other files don't matter.
func (w *fileWatch) Concerns(name string) bool {
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

// HalfWritten implements filewatch.Reader.
func (w *fileWatch) HalfWritten() bool { return w.set.halfWritten() }

// Refresh implements filewatch.Reader.
func (w *fileWatch) Refresh() {
	if !w.set.reread() && w.reported {
		return
	}
	w.reported = true
	w.set.merge()
	w.logNews()
	w.set.Report(w.sink)
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
