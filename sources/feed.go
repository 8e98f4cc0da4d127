package sources

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A translation is what a Feed asks of a Translator.
type translation interface {
	Translate(obj metav1.Object, beside neighbours) zones.Object
}

// FeedOptions are the parts that a Feed joins. Table, Store, Translator, Needs
// and Log must be set.
type FeedOptions struct {
	Table      *zones.Table
	Store      *zones.Store
	Translator translation
	Needs      []Need
	// From names the origin in messages: "the API server", "the manifests".
	From string
	Log  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// OnCommit is called after each commit, when its snapshot is published, on
	// the feed's goroutine. It may call View; it must not block for long.
	OnCommit func(zones.Commit)
	// StateFile is where the claims are saved, so that a restart can serve
	// before its origin is there; "" saves nothing.
	StateFile string
	// StateEvery is the least time between two saves; 0 means 10 seconds.
	StateEvery time.Duration
	// HoldAddresses is how long the last good claims of an object stay after its
	// status has lost the addresses; 0 holds none.
	HoldAddresses time.Duration
}

// A Feed takes what an origin reports, translates the objects that an event
// concerns, and publishes the outcome. It is the only writer of its Table.
//
// Until every kind that its sources need is settled, it publishes nothing but
// a snapshot that is not ready and names the kinds that are missing. From then
// on what has gathered is applied at once, as one commit; while a commit is
// made, more gathers. There is no settling delay.
//
// The Sink methods, View and Status are safe for concurrent use.
type Feed struct {
	options FeedOptions
	queue   *queue
	kinds   map[Kind]bool // needed by any source
	status  statusBoard

	mu        sync.Mutex // guards all below
	world     *world
	dirty     ownerSet // to be translated anew
	states    map[Kind]*kindState
	ready     bool
	lastEvent time.Time
	again     time.Time // when to commit again; zero for never
	state     stateFile
	holds     holds
	staticNew bool // static records have changed since the last commit
}

var _ Sink = (*Feed)(nil)

// A kindState is what is known about the reading of one kind.
type kindState struct {
	synced  bool  // once read whole
	off     bool  // reported as unreadable before it was ever synced
	problem error // now
	since   time.Time
	last    time.Time // of the last event
}

// settled reports whether nobody waits for the kind any longer.
func (s *kindState) settled() bool { return s.synced || s.off }

// NewFeed returns a feed with an empty world, and publishes a snapshot that is
// not ready. With a state file it loads that, and publishes what stood there as
// ready: the error then says why an existing file can't be used.
func NewFeed(options FeedOptions) (*Feed, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.StateEvery == 0 {
		options.StateEvery = 10 * time.Second
	}
	f := &Feed{
		options: options,
		queue:   newQueue(),
		kinds:   make(map[Kind]bool),
		world:   newWorld(wantedSources(options.Needs)...),
		dirty:   make(ownerSet),
		states:  make(map[Kind]*kindState),
	}
	for _, kind := range Kinds(options.Needs) {
		f.kinds[kind] = true
		f.states[kind] = &kindState{}
	}
	err := f.loadState()
	f.ready = err == nil && f.state.serving()
	if !f.ready {
		f.queue.wakeAt(objectsAtOnce)
	}
	options.Table.SetReady(f.ready, f.waiting())
	f.options.Store.Swap(options.Table.Commit(options.Now()).Snapshot)
	f.noteStatus()
	return f, err
}

// Set implements Sink. Kinds that no source needs are ignored.
func (f *Feed) Set(kind Kind, obj metav1.Object) {
	if f.kinds[kind] {
		f.queue.put(eventKey{kind, objectKey{obj.GetNamespace(), obj.GetName()}}, obj)
	}
}

// Gone implements Sink.
func (f *Feed) Gone(kind Kind, namespace, name string) {
	if f.kinds[kind] {
		f.queue.put(eventKey{kind, objectKey{namespace, name}}, nil)
	}
}

// Synced implements Sink.
func (f *Feed) Synced(kind Kind, problem error) {
	if f.kinds[kind] {
		f.queue.report(kind, problem)
	}
}

// Run applies what the origin reports until ctx is done, and then saves the
// state. It returns nil; errors in saving are logged.
func (f *Feed) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			f.saveState(true)
			return nil
		case <-f.queue.wake:
		case <-timer.C:
		}
		f.Apply()
		f.saveState(false)
		timer.Reset(f.nextWake())
	}
}

// objectsAtOnce is how many objects are taken in together while nothing is served:
// nobody waits for one of them, and each step costs something of its own.
const objectsAtOnce = 256

// nextWake returns how long the feed may sleep when nothing happens.
func (f *Feed) nextWake() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	const never = time.Hour
	wait := never
	if !f.ready {
		wait = time.Second // for objects that are too few to wake the feed
	}
	now := f.options.Now()
	if !f.again.IsZero() {
		wait = f.again.Sub(now)
	}
	if due := f.state.due; !due.IsZero() {
		wait = min(wait, due.Sub(now))
	}
	return max(f.holds.shorten(wait, now), time.Millisecond)
}

// Apply applies what has gathered so far, publishes it and returns. Run does so
// whenever something has come; commands that look once call it themselves,
// after the origin has reported all. It must not be called while Run runs.
func (f *Feed) Apply() {
	commit, published := f.apply()
	if published && f.options.OnCommit != nil {
		f.options.OnCommit(commit)
	}
}

func (f *Feed) apply() (zones.Commit, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.options.Now()
	taken := f.queue.take()
	f.takeIn(taken, now)
	f.queue.giveBack(taken)

	wasReady := f.ready
	f.ready = f.state.serving() || f.allSettled()
	f.options.Table.SetReady(f.ready, f.waiting())
	if f.ready && !wasReady {
		f.queue.wakeAt(1)
	}
	changed := f.ready != wasReady || f.staticNew
	f.staticNew = false
	if f.ready {
		changed = f.translate() || changed
		changed = f.pruneSaved() || changed
	} else {
		f.translateAhead()
	}
	defer f.noteStatus()
	due := !f.again.IsZero() && !now.Before(f.again)
	if !changed && !due && (f.ready || f.options.Store.Load().Waiting == f.waiting()) {
		return zones.Commit{}, false
	}
	commit := f.options.Table.Commit(now)
	f.options.Store.Swap(commit.Snapshot)
	f.again = commit.Again
	if f.options.StateFile != "" && (len(commit.Changes) > 0 || len(commit.Stepped) > 0 || changed) {
		f.state.changed(now, f.options.StateEvery)
	}
	if f.ready && !wasReady {
		f.options.Log.Info("serving", "from", f.options.From, "objects", f.countOwners())
	}
	return commit, true
}

// takeIn brings a batch into the world and notes who is to be translated anew.
func (f *Feed) takeIn(b batch, now time.Time) {
	for event, obj := range b.objects {
		if obj == nil {
			f.world.gone(event.kind, event.key, f.dirty)
		} else {
			f.forgetReborn(event.kind, event.key, obj)
			f.world.set(obj, f.dirty)
		}
		f.states[event.kind].last = now
		f.lastEvent = now
	}
	news := make(map[string][]string) // what to log, and for which kinds
	var order []string
	for _, report := range b.syncs {
		if text := f.noteSync(report, now); text != "" {
			if news[text] == nil {
				order = append(order, text)
			}
			news[text] = append(news[text], string(report.kind))
		}
	}
	for _, text := range order {
		f.options.Log.Log(context.Background(), syncLevel(text), text,
			"kinds", strings.Join(news[text], ", "), "from", f.options.From)
	}
}

// What is said of kinds beside problems.
const (
	readAgain = "can be read again"
	nowThere  = "can be read now"
	notThere  = "the cluster does not have these kinds, so that their sources rest until it does"
)

func syncLevel(text string) slog.Level {
	switch text {
	case readAgain, nowThere, notThere:
		return slog.LevelInfo
	}
	return slog.LevelError
}

// noteSync takes in a report about a kind, and returns what is to be logged:
// each turn once. After a kind was synced, a problem with it changes no answer:
// what is known stays.
func (f *Feed) noteSync(report syncReport, now time.Time) (news string) {
	state := f.states[report.kind]
	if !sameError(state.problem, report.problem) {
		state.since = now
		switch {
		case report.problem == nil && f.missed(report.kind, state.problem):
			news = readAgain
		case report.problem == nil:
			news = nowThere
		case !f.missed(report.kind, report.problem):
			news = notThere
		case state.synced:
			news = "can't be read now, answers stay as they are: " + report.problem.Error()
		default:
			news = "can't be read: " + report.problem.Error()
		}
	}
	state.problem = report.problem
	switch unreachable := (*Unreachable)(nil); {
	case report.problem == nil:
		state.synced, state.off = true, false
		f.world.setProblem(report.kind, nil, f.dirty)
	case state.synced || errors.As(report.problem, &unreachable):
	default:
		state.off = true
		f.retract(report.kind)
		f.world.setProblem(report.kind, report.problem, f.dirty)
	}
	return news
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}

// allSettled reports whether no source waits for anything, and at least one of
// them can be read.
func (f *Feed) allSettled() bool {
	readable := len(f.options.Needs) == 0
	for _, need := range f.options.Needs {
		if !f.settled(need) {
			return false
		}
		readable = readable || f.states[need.Kinds[0]].synced
	}
	return readable
}

// settled reports whether nobody waits for anything that the source needs: a
// source whose own kind can't be read is off, and waits for none of the others.
func (f *Feed) settled(need Need) bool {
	return f.off(need) || !slices.ContainsFunc(need.Kinds, func(kind Kind) bool { return !f.states[kind].settled() })
}

func (f *Feed) off(need Need) bool { return f.states[need.Kinds[0]].off }

// waiting names the kinds that readiness waits for: those not settled, or
// where no source can be read at all, the kinds that are off.
func (f *Feed) waiting() string {
	if f.ready {
		return ""
	}
	var missing, off []string
	wanted := slices.DeleteFunc(slices.Clone(f.options.Needs), f.off)
	for _, kind := range Kinds(wanted) {
		if !f.states[kind].settled() {
			missing = append(missing, string(kind))
		}
	}
	if len(missing) == 0 {
		for _, need := range f.options.Needs {
			off = append(off, string(need.Kinds[0]))
		}
		missing = off
	}
	return strings.Join(missing, ", ") + " from " + f.options.From
}
