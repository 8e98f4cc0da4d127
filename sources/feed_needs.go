package sources

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A Need is what one source must be able to read. The first kind is that of
// its own objects: without it the source is off. The others stand beside them.
type Need struct {
	Source string
	Kinds  []Kind
	// Optional are those of Kinds that a cluster may well not have.
	Optional []Kind
	// IfThere says that the source was not asked for by name: where the cluster
	// doesn't have its kind, it is off, and nobody complains.
	IfThere bool
}

// Kinds returns the kinds of all needs, each once.
func Kinds(needs []Need) []Kind {
	var kinds []Kind
	seen := make(map[Kind]bool)
	for _, need := range needs {
		for _, kind := range need.Kinds {
			if !seen[kind] {
				seen[kind] = true
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// Needs returns what the wanted sources must be able to read, in the order in
// which they win contests. Kinds that no translation could look at under these
// options are left out, so that nobody needs permission to read them.
func (tr *Translator) Needs() []Need {
	byDefault := len(splitCommas(tr.options.Sources)) == 0
	var needs []Need
	for _, source := range tr.sources {
		need := Need{Source: source, Kinds: []Kind{kindOf(source)}, IfThere: byDefault}
		switch source {
		case SourceIngress:
			if len(tr.classes) > 0 {
				need.Kinds = append(need.Kinds, KindIngressClass)
			}
		case SourceService:
			// Headless Services and NodePorts look further than themselves.
			if len(tr.serviceTypes) == 0 || slices.Contains(tr.serviceTypes, corev1.ServiceTypeNodePort) ||
				slices.Contains(tr.serviceTypes, corev1.ServiceTypeClusterIP) {
				need.Kinds = append(need.Kinds, KindEndpointSlice, KindPod, KindNode)
			}
		case SourceHTTPRoute, SourceGRPCRoute, SourceTLSRoute, SourceTCPRoute, SourceUDPRoute:
			need.Kinds = append(need.Kinds, KindGateway, KindListenerSet, KindNamespace)
			need.Optional = []Kind{KindListenerSet}
		case SourcePod:
			need.Kinds = append(need.Kinds, KindNode)
		}
		needs = append(needs, need)
	}
	return needs
}

// missed reports whether a problem with a kind is one that somebody is to be
// told of: not a kind that the cluster doesn't have and that nobody asked for,
// nor one that only such kinds would need.
func (f *Feed) missed(kind Kind, problem error) bool {
	if problem == nil {
		return false
	}
	absent := errors.As(problem, new(*Absent))
	return slices.ContainsFunc(f.options.Needs, func(need Need) bool {
		switch {
		case !slices.Contains(need.Kinds, kind) || f.rests(need) && kind != need.Kinds[0]:
			return false
		case absent:
			return !need.IfThere && !slices.Contains(need.Optional, kind)
		}
		return true
	})
}

// rests reports whether a source that nobody asked for by name is off because
// the cluster doesn't have its kind.
func (f *Feed) rests(need Need) bool {
	return need.IfThere && isAbsent(f.states[need.Kinds[0]].problem)
}

// isAbsent reports whether a problem is the sure word that a kind isn't there.
func isAbsent(problem error) bool {
	unreachable, absent := (*Unreachable)(nil), (*Absent)(nil)
	return errors.As(problem, &absent) && !errors.As(problem, &unreachable)
}

func wantedSources(needs []Need) []string {
	var wanted []string
	for _, need := range needs {
		wanted = append(wanted, need.Source)
	}
	return wanted
}

// countOwners counts the objects whose names are served.
func (f *Feed) countOwners() int {
	n := 0
	for _, need := range f.options.Needs {
		n += f.world.count(need.Kinds[0])
	}
	return n
}
