package sources

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

// BenchmarkFeedOneChange measures one changed Ingress among many, from Set to
// the published snapshot.
func BenchmarkFeedOneChange(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			translator, err := New(DefaultOptions())
			if err != nil {
				b.Fatal(err)
			}
			origin, err := zones.ParseName("corp.test")
			if err != nil {
				b.Fatal(err)
			}
			feed, err := NewFeed(FeedOptions{
				Table: zones.NewTable(zones.Options{Origins: []zones.Origin{{Name: origin}}}),
				Store: new(zones.Store), Translator: translator, Needs: translator.Needs(),
				From: "the benchmark", Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				feed.Set(KindIngress, shop(fmt.Sprint("i", i), fmt.Sprintf("i%d.corp.test", i), "192.0.2.1"))
			}
			for _, kind := range Kinds(translator.Needs()) {
				feed.Synced(kind, nil)
			}
			feed.Apply()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				feed.Set(KindIngress, shop("i7", "i7.corp.test", fmt.Sprintf("192.0.2.%d", i%250)))
				feed.Apply()
			}
		})
	}
}
