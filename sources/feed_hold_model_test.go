package sources

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A holdModel is a slow and obvious twin of the hold: it keeps what every object
// last pointed at, name by name.
type holdModel struct {
	objects map[string]*modelObject
}

type modelObject struct {
	uid   types.UID
	hosts []string
	ip    string // "" while the status is empty
	good  map[string]modelGood
}

type modelGood struct {
	ip   string
	lost time.Time // zero while it stands
}

// see takes in the state of an object, as it is when the feed looks.
func (m *holdModel) see(id string, ing *networkingv1.Ingress) {
	if ing == nil {
		delete(m.objects, id)
		return
	}
	o := m.objects[id]
	if o == nil || o.uid != ing.UID {
		o = &modelObject{uid: ing.UID, good: make(map[string]modelGood)}
		m.objects[id] = o
	}
	o.hosts, o.ip = nil, ""
	for _, rule := range ing.Spec.Rules {
		o.hosts = append(o.hosts, rule.Host)
	}
	for _, entry := range ing.Status.LoadBalancer.Ingress {
		o.ip = entry.IP
	}
}

// look lets the model's time pass, and returns the answer for each host.
func (m *holdModel) look(now time.Time, hosts []string) map[string]string {
	ips := make(map[string][]string)
	asked := make(map[string]bool)
	for _, o := range m.objects {
		for host, good := range o.good {
			switch {
			case !slices.Contains(o.hosts, host):
				delete(o.good, host)
			case o.ip == "" && good.lost.IsZero():
				o.good[host] = modelGood{good.ip, now}
			case o.ip == "" && now.Sub(good.lost) >= grace:
				delete(o.good, host)
			}
		}
		for _, host := range o.hosts {
			asked[host] = true
			if o.ip != "" {
				o.good[host] = modelGood{ip: o.ip}
			}
			if good, ok := o.good[host]; ok {
				ips[host] = append(ips[host], good.ip)
			}
		}
	}
	answers := make(map[string]string)
	for _, host := range hosts {
		slices.Sort(ips[host])
		switch {
		case len(ips[host]) > 0:
			answers[host] = "hit " + strings.Join(slices.Compact(ips[host]), " ")
		case asked[host]:
			answers[host] = "nodata"
		default:
			answers[host] = "nxdomain"
		}
	}
	return answers
}

// TestHoldIsModel plays random events in random batches and asks after each.
func TestHoldIsModel(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 7))
	hosts := []string{"a.corp.test", "b.corp.test", "c.corp.test"}
	for round := range 60 {
		ft := newFeedTest(t, holding)
		ft.syncAll()
		model := &holdModel{objects: make(map[string]*modelObject)}
		now := make(map[string]*networkingv1.Ingress) // what the origin has reported
		for step := range 60 {
			for range random.IntN(3) {
				id := fmt.Sprint("i", random.IntN(3))
				old := now[id]
				if old == nil || random.IntN(8) == 0 {
					ing := blinked(id, hosts[random.IntN(3)])
					ing.UID = types.UID(fmt.Sprint(round, "-", step, "-", random.Uint32()))
					now[id] = ing
					ft.Set(KindIngress, ing)
					continue
				}
				if random.IntN(8) == 0 {
					now[id] = nil
					ft.Gone(KindIngress, "web", id)
					continue
				}
				ing := old.DeepCopy()
				switch random.IntN(4) {
				case 0:
					ing.Spec.Rules = nil
					for _, host := range hosts[:1+random.IntN(3)] {
						ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{Host: host})
					}
				case 1:
					ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: fmt.Sprint("192.0.2.", 1+random.IntN(9))}}
				default:
					ing.Status = networkingv1.IngressStatus{}
				}
				now[id] = ing
				ft.Set(KindIngress, ing)
			}
			ft.later(time.Duration(random.IntN(4)) * grace / 3)
			for id, ing := range now {
				model.see(id, ing)
			}
			want := model.look(ft.now, hosts)
			for _, host := range slices.Sorted(maps.Keys(want)) {
				if got := ft.answer(host); got != want[host] {
					t.Fatalf("seed %d, round %d, step %d: %s is %q, the model says %q", seed, round, step, host, got, want[host])
				}
			}
		}
	}
}
