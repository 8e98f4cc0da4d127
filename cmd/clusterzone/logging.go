package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/clusterzone/clusterzone/sources"
)

// logger returns the program's logger, which writes to w.
func (s *generalSettings) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch text := strings.ToLower(s.logLevel); text {
	case "debug", "info", "warn", "error":
		// They are slog's own words: this can't fail.
		_ = level.UnmarshalText([]byte(text))
	case "warning": // as external-dns spells it, and so below
		level = slog.LevelWarn
	case "trace":
		level = slog.LevelDebug
	case "fatal", "panic":
		level = slog.LevelError
	default:
		return nil, fmt.Errorf("--log-level=%s is no level; %s", s.logLevel, sources.Suggest(text, []string{"debug", "info", "warn", "error"}))
	}
	options := &slog.HandlerOptions{Level: level}
	switch strings.ToLower(s.logFormat) {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("--log-format=%s is no format; write text or json", s.logFormat)
}

// quiet is the logger of commands that print a result: they log warnings and
// errors only, unless asked for more.
func quiet(log *slog.Logger) *slog.Logger {
	if log.Enabled(context.Background(), slog.LevelDebug) {
		return log
	}
	return slog.New(warnings{log.Handler()})
}

// warnings is a handler that drops what is less than a warning.
type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}

func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
