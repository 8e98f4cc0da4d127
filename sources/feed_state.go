package sources

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A stateFile is the saved state of a feed: what is still served from it, and
// when it is to be written. The zero value is a feed without saved state.
type stateFile struct {
	saved time.Time      // when the state that is served was saved; zero when nothing of it is left
	old   ownerSet       // owners whose claims still come from the file
	due   time.Time      // when the next save is due; zero when there is nothing to save
	last  time.Time      // of the last save
	busy  chan struct{}  // holds one token while a file is being written
	owned map[string]int // how many owners of old each source has
}

// serving reports whether answers rest on the file.
func (s *stateFile) serving() bool { return !s.saved.IsZero() }

// holds reports whether the owner's claims still come from the file.
func (s *stateFile) holds(owner zones.Owner) bool {
	_, ok := s.old[owner]
	return ok
}

// fresh notes that the owner's claims no longer come from the file.
func (s *stateFile) fresh(owner zones.Owner) {
	if s.holds(owner) {
		delete(s.old, owner)
		s.owned[owner.Source]--
	}
}

// changed notes that there is something to save.
func (s *stateFile) changed(now time.Time, every time.Duration) {
	if s.due.IsZero() {
		s.due = now
		if next := s.last.Add(every); next.After(now) {
			s.due = next
		}
	}
}

// loadState puts the saved state into the table. A file that is not there is
// the ordinary first start; one that is broken is logged and left out, since a
// name server must start. Only a place where no file can be is an error.
func (f *Feed) loadState() error {
	f.state = stateFile{busy: make(chan struct{}, 1), old: make(ownerSet), owned: make(map[string]int)}
	path := f.options.StateFile
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("the state file %s can't be kept: its folder does not exist; create the folder", path)
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the state file can't be read (%w); give it to the user that clusterzone runs as", err)
	}
	defer file.Close()
	saved, err := f.options.Table.Load(file)
	if err != nil {
		f.options.Log.Error("the state file is left out and will be written anew", "file", path, "error", err)
		return nil
	}
	f.state.saved = saved
	f.dropUnneeded()
	for _, need := range f.options.Needs {
		for owner := range f.options.Table.Owners(need.Source) {
			f.state.old[owner] = struct{}{}
			f.state.owned[need.Source]++
		}
	}
	f.loadHolds()
	f.options.Log.Info("serving from saved state", "file", path, "saved", saved, "objects", len(f.state.old))
	return nil
}

// dropUnneeded deletes the claims from the file of sources that are no longer
// enabled: nobody would ever confirm or take back those.
func (f *Feed) dropUnneeded() {
	wanted := wantedSources(f.options.Needs)
	for _, source := range sourceNames {
		if slices.Contains(wanted, source) {
			continue
		}
		for _, owner := range slices.Collect(f.options.Table.Owners(source)) {
			f.options.Table.Delete(owner)
		}
	}
}

// pruneSaved deletes the claims from the file of each source that has synced
// and does not know the object, or whose kind the cluster doesn't have at all,
// and reports whether there were any. When all sources are settled, the file's
// say is over.
func (f *Feed) pruneSaved() bool {
	if !f.state.serving() {
		return false
	}
	wrote, all := false, true
	for _, need := range f.options.Needs {
		own := f.states[need.Kinds[0]]
		if !f.settled(need) {
			all = false
			continue
		}
		if !own.synced && !isAbsent(own.problem) {
			continue // nothing is deleted on a guess
		}
		if f.state.owned[need.Source] == 0 {
			continue
		}
		for owner := range f.state.old {
			if owner.Source == need.Source && !f.world.hasObject(owner) {
				f.state.fresh(owner)
				f.options.Table.Delete(owner)
				wrote = true
			}
		}
	}
	if all && len(f.state.old) == 0 {
		f.options.Log.Info("nothing is served from saved state any more", "saved", f.state.saved)
		f.state.saved = time.Time{}
	}
	return wrote
}

// saveState writes the state file if it is due, or at the end if anything has
// changed. Only the encoding holds up the feed; the disk works on its own.
func (f *Feed) saveState(last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.state
	now := f.options.Now()
	if f.options.StateFile == "" || !f.ready || s.due.IsZero() || !last && now.Before(s.due) {
		if last && s.busy != nil {
			s.busy <- struct{}{} // a write under way ends first
			<-s.busy
		}
		return
	}
	if last {
		s.busy <- struct{}{}
	} else {
		select {
		case s.busy <- struct{}{}:
		default: // the disk is slower than we; later
			s.due = now.Add(f.options.StateEvery)
			return
		}
	}
	var content bytes.Buffer
	if err := f.options.Table.Save(&content, now); err != nil {
		f.options.Log.Error("the state can't be saved", "error", err)
		<-s.busy
		return
	}
	s.last, s.due = now, time.Time{}
	write := func() {
		defer func() { <-s.busy }()
		if err := writeFile(f.options.StateFile, content.Bytes()); err != nil {
			f.options.Log.Error("the state can't be saved", "file", f.options.StateFile, "error", err)
		}
	}
	if last {
		write()
	} else {
		go write()
	}
}

// writeFile replaces a file whole or not at all: a crash leaves the old one or
// the new one.
func writeFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // gone already when all went well
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
