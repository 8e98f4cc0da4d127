package cluster

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/clusterzone/clusterzone/sources"
)

// TestKeeper: objects are handed over while they come, and what a list doesn't have
// is gone, whether it came in an earlier list, an event, or a list that broke off.
func TestKeeper(t *testing.T) {
	t.Parallel()
	sink := newScript()
	k := newKeeper(&kindWatcher{kind: sources.KindIngress, sink: sink, strip: stripper{}.strip})
	k.read = func() {
		sink.mu.Lock()
		defer sink.mu.Unlock()
		sink.write("read")
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	early := k.Transformer()
	must(early(ingress("web", "broken-off", "1")))
	a, err := early(ingress("web", "a", "1"))
	must(a, err)
	must(nil, k.Replace([]any{a}, "1"))
	must(nil, k.Add(ingress("other", "b", "1")))
	must(nil, k.Update(ingress("web", "a", "2")))
	must(nil, k.Delete(ingress("other", "b", "1")))
	must(nil, k.Add(ingress("other", "c", "1")))
	must(nil, k.Replace([]any{ingress("web", "d", "1"), cache.NewObjectName("web", "a")}, "2"))
	must(nil, k.Resync())
	want := `set Ingress web/broken-off 1
set Ingress web/a 1
gone Ingress web/broken-off
read
set Ingress other/b 1
set Ingress web/a 2
gone Ingress other/b
set Ingress other/c 1
set Ingress web/d 1
gone Ingress other/c
read`
	if got := sink.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := k.Add("no object"); err == nil || !strings.Contains(err.Error(), "no meta") {
		t.Errorf("got %v", err)
	}
}
