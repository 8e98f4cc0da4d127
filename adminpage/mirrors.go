package adminpage

import (
	"cmp"
	"slices"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

// A Mirror is how the copy of the records in one cloud's DNS is. Texts that say why
// are sentences without final stop; empty for nothing.
type Mirror struct {
	Name, Provider, Policy string
	Owner                  string // in ownership records; empty without these
	DryRun                 bool   // it plans, and writes nothing
	// Leads says whether this process writes; Writer is who else does, or why nobody,
	// in words.
	Leads  bool
	Writer string
	// Waiting says why nothing is written now, Problem what went wrong in all zones,
	// Doubt why nothing is deleted until an operator acknowledges it.
	Waiting, Problem, Doubt string
	// LastCycle is when the last complete comparison ended, LastSuccess when the last
	// did that had no error; the zero time where there was none.
	LastCycle, LastSuccess time.Time
	Zones                  []MirrorZone
}

// A MirrorZone is how one zone of a mirror's cloud is.
type MirrorZone struct {
	Name zones.Name
	ID   string // the cloud's name for it
	// Problem is why it was left undone, Warning what should be looked at.
	Problem, Warning string
	// Owned are the mirror's own records, Foreign others', Wanted those asked for, all
	// of the last complete comparison, before it wrote.
	Owned, Foreign, Wanted int
	// Planned are the names that the last comparison has to write, Done those written.
	Planned, Done int
	Held          []MirrorHeld
	Blocked       []MirrorBlocked
}

// A MirrorHeld is a change that a guard holds back.
type MirrorHeld struct {
	Name   zones.Name
	Change string // in words
	Guard  string // a fixed word
	Why    string
	Until  time.Time // when it may be made; zero where nobody knows
	// Asked says that somebody has to do something about it: it doesn't pass.
	Asked bool
}

// A MirrorBlocked is a name that can't be written.
type MirrorBlocked struct {
	Name   zones.Name
	Type   zones.Type
	Object string // that asks for it
	Why    string
}

// Each mirror's zones and stopped changes on one page are no more than this.
const (
	shownMirrorZones = 50
	shownStopped     = 100
)

// A mirrorView is a mirror as the template sees it.
type mirrorView struct {
	Mirror
	Word      string
	Tone      tone
	Shown     []MirrorZone // those with something to look at first
	MoreZones int
}

// A stopped change is one that is held or blocked, of any mirror.
type stopped struct {
	Mirror string
	Zone   zones.Name
	Name   zones.Name
	What   string
	Why    string
	Until  time.Time
	Word   string
	Tone   tone
}

// mirrorViews returns the mirrors of an overview and what they don't write, what
// somebody has to do about first. more says how many of that are left out; troubled
// that something is wrong.
func mirrorViews(mirrors []Mirror) (views []mirrorView, all []stopped, more int, troubled bool) {
	for i := range mirrors {
		m := &mirrors[i]
		v := mirrorView{Mirror: *m}
		v.Word, v.Tone = m.state()
		troubled = troubled || v.Tone == "bad" || m.Doubt != ""
		ranked := slices.Clone(m.Zones)
		slices.SortStableFunc(ranked, func(a, b MirrorZone) int { return order(a.troubled(), b.troubled()) })
		v.Shown, v.MoreZones = cut(ranked, shownMirrorZones)
		views = append(views, v)
		for j := range m.Zones {
			all = append(all, m.Zones[j].stopped(m.Name)...)
		}
	}
	for i := range all {
		troubled = troubled || all[i].Tone == "warn" && all[i].Word != "blocked"
	}
	slices.SortStableFunc(all, func(a, b stopped) int {
		return cmp.Or(order(a.Tone == "warn", b.Tone == "warn"), cmp.Compare(a.Mirror, b.Mirror), a.Name.Compare(b.Name))
	})
	all, more = cut(all, shownStopped)
	return views, all, more, troubled
}

// state says in a word how a mirror is.
func (m *Mirror) state() (string, tone) {
	writing, problem := false, m.Problem != ""
	for i := range m.Zones {
		writing = writing || m.Zones[i].Done < m.Zones[i].Planned
		problem = problem || m.Zones[i].Problem != ""
	}
	switch {
	case problem:
		return "failing", "bad"
	case !m.Leads:
		return "standing by", "quiet"
	case m.Waiting != "":
		return "waiting", "warn"
	case m.DryRun:
		return "dry run", "quiet"
	case writing:
		return "writing", "quiet"
	}
	return "in step", "good"
}

func (z *MirrorZone) troubled() bool {
	return z.Problem != "" || z.Warning != "" || z.Done < z.Planned || len(z.Held)+len(z.Blocked) > 0
}

func (z *MirrorZone) stopped(mirror string) (list []stopped) {
	for _, b := range z.Blocked {
		what := b.Type.String()
		if b.Object != "" {
			what += " for " + b.Object
		}
		list = append(list, stopped{Mirror: mirror, Zone: z.Name, Name: b.Name, What: what, Why: b.Why, Word: "blocked", Tone: "warn"})
	}
	for _, h := range z.Held {
		s := stopped{Mirror: mirror, Zone: z.Name, Name: h.Name, What: h.Change, Why: h.Why, Until: h.Until, Word: h.Guard, Tone: "quiet"}
		if h.Asked {
			s.Tone = "warn"
		}
		list = append(list, s)
	}
	return list
}
