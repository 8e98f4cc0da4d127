package zonefile

import (
	"context"
	"log/slog"
	"os"
	"slices"

	"github.com/clusterzone/clusterzone/filewatch"
	"github.com/clusterzone/clusterzone/zones"
)

// Run reads anew what changes in the files until ctx is done: those of the
// zones, those that they include, and links to them. put gets the records of
// each zone whose file says something else than before. What is wrong or odd is
// logged once.
func (s *Set) Run(ctx context.Context, log *slog.Logger, put func(origin zones.Name, static *zones.Static)) {
	filewatch.Run(ctx, log, "the zone files", &fileWatch{s, log, put})
}

// A fileWatch is a Set as the watch sees it.
type fileWatch struct {
	set *Set
	log *slog.Logger
	put func(origin zones.Name, static *zones.Static)
}

// Folders implements filewatch.Reader.
func (w *fileWatch) Folders() []string { return w.set.folders }

// Concerns implements filewatch.Reader.
func (w *fileWatch) Concerns(name string) bool {
	return w.set.paths[name] || slices.Contains(w.set.folders, name)
}

// HalfWritten implements filewatch.Reader.
func (w *fileWatch) HalfWritten() bool {
	for _, z := range w.set.zones {
		for path, old := range z.seen {
			if old.info == nil || old.info.Size() == 0 {
				continue
			}
			if info, err := os.Stat(path); err == nil && info.Size() == 0 {
				return true
			}
		}
	}
	return false
}

// Refresh implements filewatch.Reader.
func (w *fileWatch) Refresh() {
	read := false
	for _, z := range w.set.zones {
		if !z.stale() {
			continue
		}
		read = true
		w.reread(z)
	}
	if read {
		w.set.list()
	}
}

func (w *fileWatch) reread(z *zone) {
	problem, findings := z.problem, z.findings
	changed := z.read()
	w.set.note(z)
	switch {
	case z.problem != nil:
		if problem == nil || problem.Error() != z.problem.Error() {
			w.log.Error("a zone file can't be read; the zone stays as it was", "zone", z.Origin.String(), "error", z.problem)
		}
		return
	case problem != nil:
		w.log.Info("the zone file can be read again", "zone", z.Origin.String(), "file", z.Path)
	}
	if !slices.Equal(findings, z.findings) {
		LogFindings(w.log, z.findings)
	}
	if changed {
		w.log.Info("a zone file has changed", "zone", z.Origin.String(), "file", z.Path, "sets", z.static.Len())
		w.put(z.Origin, z.static)
	}
}

// LogFindings logs what is odd in zone files.
func LogFindings(log *slog.Logger, findings []Finding) {
	for _, finding := range findings {
		log.Warn(finding.Message, "file", finding.File, "line", finding.Line)
	}
}
