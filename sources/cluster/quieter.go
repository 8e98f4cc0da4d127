package cluster

import (
	"context"
	"log/slog"
)

// A quieter passes on what client-go logs as debug lines: what matters of it
// reaches the log as a report about a kind, once and not at every retry.
type quieter struct{ slog.Handler }

// Enabled implements slog.Handler. client-go's finer levels lie below info and
// are dropped.
func (q quieter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo && q.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (q quieter) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (q quieter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quieter{q.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (q quieter) WithGroup(name string) slog.Handler { return quieter{q.Handler.WithGroup(name)} }
