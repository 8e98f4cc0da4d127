package sources

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// A draft is one translation under way: what the object wishes for before
// stand-ins, filters and merging, which settle applies in one place.
type draft struct {
	tr          *Translator
	source      string
	meta        *metav1.ObjectMeta
	owner       zones.Owner
	annotations annotationSet

	properties // of the object, for every record that has none of its own

	wishes  []wish
	ports   []portWish
	skipped []zones.Skipped
	notes   []zones.Skipped // remarks on the whole object; settle gives them its names
}

// properties are what is said of records beside name, type and targets.
type properties struct {
	ttl           zones.TTL
	setIdentifier string
	options       []zones.Option
	reverse       reverseChoice
	word          string // what messages call the place of an option: "annotation" or "property"
}

// A wish is one name with what one origin gives for it.
type wish struct {
	named
	targets     []target
	problems    []string
	kind        zones.Type // the type of record that is wished for; TypeNone: as the targets have it
	targetsFrom string
	// reason and why say why there are no targets, where there are none.
	reason zones.Reason
	why    string
	// fillable: default targets may stand in for missing ones. overridden: they
	// may only by force, since the object names targets of its own.
	fillable, overridden bool
	// bare: the object's TTL, set-identifier and options don't count.
	bare bool
	// own are the properties of this wish alone, instead of the object's.
	own *properties
}

// A portWish is one SRV record, wished for if host gets an address.
type portWish struct {
	named
	host zones.Name
	data string // "0 50 30080 game.example."
}

func (tr *Translator) newDraft(source string, meta *metav1.ObjectMeta) *draft {
	return &draft{
		tr:          tr,
		source:      source,
		meta:        meta,
		owner:       zones.Owner{Source: source, Namespace: meta.Namespace, Name: meta.Name},
		annotations: tr.annotationsOf(meta.Annotations),
		properties:  properties{word: "annotation"},
	}
}

// skip records that name, or its records of type t, are asked for in vain.
func (d *draft) skip(name zones.Name, t zones.Type, reason zones.Reason, why string) {
	d.skipped = append(d.skipped, zones.Skipped{Owner: d.owner, Name: name, Type: t, Reason: reason, Message: why})
}

// skipAsked records that text, which is no name, is asked for in vain.
func (d *draft) skipAsked(text string, reason zones.Reason, why string) {
	d.skipped = append(d.skipped, zones.Skipped{Owner: d.owner, Asked: clip(text), Reason: reason, Message: why})
}

// note records a remark on the whole object, whose records stand nonetheless.
func (d *draft) note(reason zones.Reason, why string) {
	d.notes = append(d.notes, zones.Skipped{Owner: d.owner, Reason: reason, Message: why})
}

// wish asks for names, each with the same targets.
func (d *draft) wish(names []named, targets targetList, w wish) {
	w.targets, w.problems, w.targetsFrom = targets.targets, targets.problems, targets.from
	if len(w.targets) == 0 && len(w.problems) > 0 {
		w.reason = "" // the problems say it
	}
	for _, n := range names {
		w.named = n
		d.wishes = append(d.wishes, w)
	}
}

// fruitful reports whether a wish will give records, filters apart. Until one
// does, other origins of names may stand in.
func (d *draft) fruitful() bool { return d.fruitfulFrom(0) }

func (d *draft) fruitfulFrom(start int) bool {
	return slices.ContainsFunc(d.wishes[start:], func(w wish) bool {
		targets, _ := d.tr.standIn.apply(&w)
		return len(targets) > 0
	})
}

// tryOther lets another origin of names stand in. If it gives no records
// either, it leaves no trace beside names that the object has from elsewhere.
func (d *draft) tryOther(publish func()) {
	wishes, ports, skipped := len(d.wishes), len(d.ports), len(d.skipped)
	publish()
	if wishes > 0 && !d.fruitfulFrom(wishes) {
		d.wishes, d.ports, d.skipped = d.wishes[:wishes], d.ports[:ports], d.skipped[:skipped]
	}
}

// refused is the outcome for an object that is left out as a whole: a Skipped
// for each name that it would have had, or one without name.
func (d *draft) refused(r refusal, names []named) zones.Object {
	for _, n := range names {
		d.skip(n.name, zones.TypeNone, r.reason, r.why)
	}
	if len(names) == 0 {
		d.skip("", zones.TypeNone, r.reason, r.why)
	}
	return d.object(nil)
}

// object sorts what was skipped, drops repetitions, and returns the outcome.
func (d *draft) object(claims []zones.Claim) zones.Object {
	slices.SortFunc(d.skipped, compareSkipped)
	d.skipped = slices.Compact(d.skipped)
	return zones.Object{Owner: d.owner, Created: d.meta.CreationTimestamp.Time, Claims: claims, Skipped: d.skipped}
}

// compareSkipped orders by name, and for one name puts the reasons for which
// it has no records before mere remarks.
func compareSkipped(a, b zones.Skipped) int {
	return cmp.Or(
		a.Name.Compare(b.Name),
		cmp.Compare(a.Asked, b.Asked),
		cmp.Compare(a.Reason.Weight(), b.Reason.Weight()),
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Message, b.Message),
	)
}
