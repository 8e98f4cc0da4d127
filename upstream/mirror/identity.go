package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Identity is what decides which records are a mirror's: settings and what they
// say. Two runs with the same Identity look for the same records of the same wishes;
// where a run has another one than the last, what it finds without a wish may be
// somebody else's. It holds no secrets, and is not changed once it was handed on.
type Identity map[string]string

// Mark is a short name of the Identity: 12 hexadecimal digits, the same for equal
// ones.
func (i Identity) Mark() string {
	sum := sha256.New()
	for _, setting := range slices.Sorted(maps.Keys(i)) {
		fmt.Fprintf(sum, "%q=%q\n", setting, i[setting])
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// since says in words what differs from an earlier Identity.
func (i Identity) since(last Identity) string {
	all := maps.Clone(last)
	maps.Copy(all, i)
	var parts []string
	for _, setting := range slices.Sorted(maps.Keys(all)) {
		if was, is := last[setting], i[setting]; was != is {
			parts = append(parts, fmt.Sprintf("%s was %s and is %s", setting, orNothing(was), orNothing(is)))
		}
	}
	return strings.Join(parts, "; ")
}

func orNothing(text string) string {
	if text == "" {
		return "not set"
	}
	return strconv.Quote(text)
}

// A Memory keeps a mirror's Identity where the next run finds it: also that of
// another process, where several take turns. Calls must end with ctx.
type Memory interface {
	// Recall returns what was kept last; nil where nothing was.
	Recall(ctx context.Context) (Identity, error)
	// Remember keeps an Identity in place of the last one.
	Remember(ctx context.Context, identity Identity) error
}

// memoryLimit bounds a call of the Memory, which is asked in each complete cycle.
const memoryLimit = 10 * time.Second

// Identity returns what decides which records are this mirror's.
func (m *Mirror) Identity() Identity {
	o := &m.options.Registry.options
	identity := maps.Clone(m.options.Identity)
	if identity == nil {
		identity = Identity{}
	}
	maps.Copy(identity, Identity{
		"provider": m.options.Cloud.Name, "owner": o.Owner, "prefix": o.Prefix, "suffix": o.Suffix, "wildcard replacement": o.Wildcard,
	})
	if o.Noop {
		identity["registry"] = "noop"
	}
	return identity
}

// recall compares what this mirror is with what it was when it wrote last, and
// returns why deletions wait; "" where they needn't. The first Identity, one that an
// operator has acknowledged, and one that says the same is kept as the last one; where
// nothing can be kept, the next run would know nothing, so that deletions wait too.
// Only who may write calls it with keep.
func (m *Mirror) recall(ctx context.Context, keep bool) string {
	memory := m.options.Memory
	if memory == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, memoryLimit)
	defer cancel()
	last, err := memory.Recall(ctx)
	if err != nil {
		return fmt.Sprintf("what decided last which records are this mirror's can't be read: %v", err)
	}
	now := m.Identity()
	mark := now.Mark()
	switch {
	case last != nil && last.Mark() == mark:
		return ""
	case last != nil && m.options.Acknowledged != mark:
		return fmt.Sprintf("what decides which records are this mirror's has changed since it wrote last: %s; if that is meant, acknowledge it with --mirror-acknowledge=%s", now.since(last), mark)
	case !keep || m.options.DryRun:
		return "" // what writes nothing is not the last that wrote
	}
	if err := memory.Remember(ctx, now); err != nil {
		return fmt.Sprintf("what decides which records are this mirror's can't be kept for the next run: %v", err)
	}
	return ""
}

// doubts sets why deletions wait, and says so once in the log.
func (m *Mirror) doubts(why string) {
	if why != "" && why != m.status.Doubt {
		m.options.Log.Warn("a mirror deletes nothing for now", "mirror", m.options.Name, "why", why)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Doubt = why
}
