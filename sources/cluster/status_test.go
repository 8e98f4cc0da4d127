package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/clusterzone/clusterzone/sources"
)

// A deaf sink only counts what it is told.
type deaf struct{ sets int }

func (d *deaf) Set(sources.Kind, metav1.Object)   { d.sets++ }
func (d *deaf) Gone(sources.Kind, string, string) {}
func (d *deaf) Synced(kind sources.Kind, _ error) {}

// writeStatuses hands the endpoints to a writer whose API server answers with
// err so many times, and returns the patches that it got and the log.
func writeStatuses(t *testing.T, failures int, err error, endpoints ...*sources.DNSEndpoint) (patches []string, log string) {
	t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}: "DNSEndpointList"})
	client.PrependReactor("patch", "dnsendpoints", func(action k8stesting.Action) (bool, runtime.Object, error) {
		patch := action.(k8stesting.PatchAction)
		patches = append(patches, fmt.Sprintf("%s/%s %s %s", patch.GetNamespace(), patch.GetName(), patch.GetSubresource(), patch.GetPatch()))
		if failures > 0 {
			failures--
			return true, nil, err
		}
		return true, nil, nil
	})
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		sink := &deaf{}
		w := NewStatusWriter(sink, client, slog.New(slog.NewTextHandler(&out, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		for _, endpoint := range endpoints {
			w.Set(sources.KindDNSEndpoint, endpoint)
		}
		w.Set(sources.KindDNSEndpoint, &metav1.ObjectMeta{Name: "of another type", Generation: 1})
		if sink.sets != len(endpoints)+1 {
			t.Errorf("the sink got %d objects", sink.sets)
		}
		// The clock is synctest's: all tries are over before it moves so far.
		synctest.Wait()
		<-time.After(statusTries * lastStatusPause)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return patches, out.String()
}

// TestStatusIsWritten: only where it differs, and once.
func TestStatusIsWritten(t *testing.T) {
	t.Parallel()
	patches, log := writeStatuses(t, 0, nil,
		endpoint("new", 3, 0), endpoint("behind", 5, 4), endpoint("known", 2, 2), endpoint("from a file", 0, 0))
	want := []string{
		`shop/new status {"status":{"observedGeneration":3}}`,
		`shop/behind status {"status":{"observedGeneration":5}}`,
	}
	if strings.Join(patches, "\n") != strings.Join(want, "\n") || log != "" {
		t.Errorf("patches:\n%s\nlog: %s", strings.Join(patches, "\n"), log)
	}
}

// TestStatusIsTriedAgain: trouble passes, or is given up with one line.
func TestStatusIsTriedAgain(t *testing.T) {
	t.Parallel()
	if patches, log := writeStatuses(t, 3, errors.New("busy"), endpoint("a", 1, 0)); len(patches) != 4 || log != "" {
		t.Errorf("%d patches, log: %s", len(patches), log)
	}
	patches, log := writeStatuses(t, 1000, errors.New("forbidden"), endpoint("a", 1, 0))
	if len(patches) != statusTries+1 || strings.Count(log, "can't be written") != 1 {
		t.Errorf("%d patches, log: %s", len(patches), log)
	}
}

func endpoint(name string, generation, observed int64) *sources.DNSEndpoint {
	return &sources.DNSEndpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: generation},
		Status:     sources.DNSEndpointStatus{ObservedGeneration: observed},
	}
}
