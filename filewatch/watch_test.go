package filewatch

import (
	"context"
	"log/slog"
	"testing"
)

// A writer that has just begun when the watch does: its file is empty when it is
// first looked at, and whole the second time.
type beingWritten struct {
	folder string
	looks  int
	read   chan int // how often it was looked at before each reading
}

func (b *beingWritten) Folders() []string    { return []string{b.folder} }
func (b *beingWritten) Concerns(string) bool { return true }
func (b *beingWritten) HalfWritten() bool    { b.looks++; return b.looks == 1 }

func (b *beingWritten) Refresh() {
	select {
	case b.read <- b.looks:
	default:
	}
}

// The first reading waits for a writer as every later one does.
func TestFirstReadingWaitsForWriters(t *testing.T) {
	t.Parallel()
	files := &beingWritten{folder: t.TempDir(), read: make(chan int, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx, slog.New(slog.DiscardHandler), "the files", files)
	}()
	if looks := <-files.read; looks < 2 {
		t.Error("the file was read while it was being written")
	}
	cancel()
	<-ended
}
