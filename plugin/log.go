package plugin

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	clog "github.com/coredns/coredns/plugin/pkg/log"

	"github.com/clusterzone/clusterzone/zones"
)

// A logHandler writes what the packages log to CoreDNS' log, as "message
// key=value ...".
type logHandler struct {
	to    clog.P
	attrs string
	group string
}

// newLog returns a logger to CoreDNS' log, as the plugin's.
func newLog() *slog.Logger { return slog.New(logHandler{to: clog.NewWithPlugin(Name)}) }

// Enabled implements slog.Handler: debug messages appear with the plugin debug.
func (l logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level > slog.LevelDebug || clog.D.Value()
}

// Handle implements slog.Handler.
func (l logHandler) Handle(_ context.Context, record slog.Record) error {
	var b strings.Builder
	b.WriteString(record.Message + l.attrs)
	record.Attrs(func(attr slog.Attr) bool {
		b.WriteString(l.text(attr))
		return true
	})
	switch text := b.String(); {
	case record.Level >= slog.LevelError:
		l.to.Error(text)
	case record.Level >= slog.LevelWarn:
		l.to.Warning(text)
	case record.Level >= slog.LevelInfo:
		l.to.Info(text)
	default:
		l.to.Debug(text)
	}
	return nil
}

func (l logHandler) text(attr slog.Attr) string {
	value := attr.Value.Resolve().String()
	if value == "" || strings.ContainsAny(value, " \t\n\"=") {
		value = fmt.Sprintf("%q", value)
	}
	return " " + l.group + attr.Key + "=" + value
}

// WithAttrs implements slog.Handler.
func (l logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, attr := range attrs {
		l.attrs += l.text(attr)
	}
	return l
}

// WithGroup implements slog.Handler.
func (l logHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		l.group += name + "."
	}
	return l
}

// logSkipped logs each Skipped once, when it comes up: what an author can mend as
// a warning, the rest for those who look closer.
func logSkipped(log *slog.Logger, skips []zones.Skipped) {
	for _, skip := range skips {
		name, level := skip.Asked, slog.LevelDebug
		if skip.Name != "" {
			name = skip.Name.String()
		}
		if skip.Reason.Mendable() {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "skipped", "object", skip.Owner.String(), "name", name, "reason", string(skip.Reason), "message", skip.Message)
	}
}
