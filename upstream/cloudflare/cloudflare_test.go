package cloudflare

import (
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/upstream/mirror/mirrortest"
	"github.com/clusterzone/clusterzone/zones"
)

func name(t *testing.T, text string) zones.Name {
	t.Helper()
	n, err := zones.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// open returns a cloud of a fake, without waiting between calls.
func open(t *testing.T, f *fake, change ...func(*Options)) mirror.Cloud {
	t.Helper()
	options := Options{Credentials: Credentials{Token: fakeToken}, Budget: mirror.NewBucket(1e6, 1e6)}
	for _, c := range change {
		c(&options)
	}
	cloud, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	c := cloud.Provider.(*provider).client
	c.web.Transport, c.pause = f, time.Millisecond
	return cloud
}

// theZone returns the zone example.com as the cloud lists it.
func theZone(t *testing.T, cloud mirror.Cloud) mirror.Zone {
	t.Helper()
	list, err := cloud.Provider.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("there is no zone")
	}
	return list[0]
}

func TestPassesTheExam(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"free", "pro", "enterprise"} {
		for _, pointers := range []bool{false, true} {
			kind := plan
			if pointers {
				kind += " with pointers"
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				examine(t, plan, pointers)
			})
		}
	}
}

func examine(t *testing.T, plan string, pointers bool) {
	ttl := zones.TTL{Seconds: 600, Set: true}
	proxied := []zones.Option{{Key: optionProxied, Value: "true"}}
	exam := mirrortest.Exam{
		Open: func(t *testing.T) (mirror.Cloud, zones.Name) {
			f := newFake(plan)
			f.pointers = pointers
			return open(t, f, func(o *Options) { o.PageSize = 100 }), name(t, "example.com")
		},
		Wishes: []mirror.Record{
			{Name: name(t, "proxied.example.org"), Type: zones.TypeA, Targets: []string{"192.0.2.1", "192.0.2.2"}, TTL: ttl, Options: proxied},
			{Name: name(t, "proxied.example.org"), Type: zones.TypeTXT, Targets: []string{`"none of these is"`}, TTL: ttl, Options: proxied},
			{Name: name(t, "apart.example.org"), Type: zones.TypeCNAME, Targets: []string{"lb.example.net"}, TTL: ttl, Options: []zones.Option{{Key: "alias", Value: "true"}, {Key: optionComment, Value: "of the shop"}, {Key: optionProxied, Value: "false"}}},
			{Name: name(t, "quick.example.org"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: zones.TTL{Seconds: 5, Set: true}},
			{Name: name(t, "automatic.example.org"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: zones.TTL{Seconds: 1, Set: true}},
			{Name: name(t, "n.example.org"), Type: zones.TypeNAPTR, Targets: []string{`100 10 "S" "SIP+D2T" "" _sip._tcp.example.net`}, TTL: ttl},
			{Name: name(t, "null.example.org"), Type: zones.TypeMX, Targets: []string{"0 ."}, TTL: ttl},
			{Name: name(t, "long.example.org"), Type: zones.TypeTXT, Targets: []string{`"` + long(300) + `"`, `"a \"quoted\" one; with \\"`, `"two " "parts"`}, TTL: ttl},
		},
		// A CNAME that points at itself: Cloudflare alone knows that it is none.
		Bad: &mirror.Record{Name: name(t, "bad.example.org"), Type: zones.TypeCNAME, Targets: []string{"bad.example.com"}, TTL: ttl},
	}
	if plan != "free" {
		exam.Wishes = append(exam.Wishes, mirror.Record{
			Name: name(t, "tagged.example.org"), Type: zones.TypeA, Targets: []string{"192.0.2.1"}, TTL: ttl,
			Options: []zones.Option{{Key: optionTags, Value: "Team:blue, env:Prod,env:Prod"}},
		})
	}
	mirrortest.Run(t, exam)
}

func long(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	return string(text)
}
