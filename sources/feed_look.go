package sources

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clusterzone/clusterzone/zones"
)

// Counts counts the claims and what was skipped, as of the last step. It holds up
// the feed for a moment, as View does, and so do the next functions.
func (f *Feed) Counts() (counts zones.Counts) {
	f.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) { counts = table.Counts() })
	return counts
}

// Explain says why a question is answered as it is; see zones.Table.Explain.
func (f *Feed) Explain(name zones.Name, kind zones.Type, targets *zones.Targets) (explained zones.Explanation) {
	f.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) {
		explained = table.Explain(name, kind, targets)
	})
	return explained
}

// Outside returns the names outside of the zones that CNAMEs lead to, for whoever
// begins to look them up.
func (f *Feed) Outside() (outside []zones.Name) {
	f.View(func(table *zones.Table, _ func(zones.Owner) metav1.Object) { outside = table.Outside() })
	return outside
}
