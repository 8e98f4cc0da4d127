package cloudflare

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// Whatever a reply holds, it is read as records in their normal form, or refused.
func FuzzRecordsOfAReply(f *testing.F) {
	for _, text := range []string{
		`{"success":true,"result":[{"id":"1","name":"web.example.com","type":"A","content":"192.0.2.1","ttl":1,"proxied":true,"comment":null,"tags":["A:b"]}],"result_info":{"total_count":1}}`,
		`{"success":true,"result":[{"id":"1","name":"t.example.com","type":"TXT","content":"v=spf1 \"-all","ttl":300},{"id":"2","name":"t.example.com","type":"TXT","content":"\"a\" \"b\\\\\"","ttl":60}]}`,
		`{"result":[{"id":"1","name":"m.example.com","type":"MX","content":"mx.test","priority":10,"ttl":1},{"id":"2","name":"s.example.com","type":"SRV","data":{"priority":0,"weight":5,"port":5060,"target":"."},"ttl":1}]}`,
		`{"result":[{"id":"1","name":"n.example.com","type":"NAPTR","data":{"order":1,"preference":2,"flags":"S","service":"a b","regex":"!x!\\\\1!","replacement":"."},"ttl":1},{"id":"3","type":"CAA","name":"*","data":[1],"content":""}]}`,
	} {
		f.Add([]byte(text))
	}
	n := &normalizer{}
	of := mirror.Zone{Handle: newZone("enterprise")}
	limits := limits(&Options{})
	f.Fuzz(func(t *testing.T, text []byte) {
		var reply page[object]
		if json.Unmarshal(text, &reply) != nil {
			return
		}
		records, err := gather(reply.Result)
		if err != nil {
			return
		}
		for _, r := range records {
			if len(r.Targets) == 0 || r.Handle == nil {
				t.Fatalf("%+v has no objects", r)
			}
			if !slices.Contains(limits.Types, r.Type) {
				continue
			}
			for _, target := range r.Targets {
				again, err := canonical(r.Type, target)
				if err != nil || again != target {
					t.Fatalf("%s %q becomes %q (%v)", r.Type, target, again, err)
				}
				var body object
				if err := body.setTarget(r.Type, target); err != nil {
					t.Fatalf("%s %q can't be written: %v", r.Type, target, err)
				}
				if read, err := body.target(r.Type); err != nil || read != target {
					t.Fatalf("%s %q is written as %+v and read as %q (%v)", r.Type, target, body, read, err)
				}
			}
			if _, err := n.normalize(of, mirror.Record{Name: r.Name, Type: r.Type, Targets: r.Targets[:1]}); err != nil && len(r.Targets[0]) < 8000 {
				t.Fatalf("%s %q has no normal form: %v", r.Type, r.Targets[0], err)
			}
		}
	})
}

// Whatever headers say, calls go on at a rate above zero, within the hour.
func FuzzHeadersOfAReply(f *testing.F) {
	f.Add(`"default";r=100;t=20`, "137")
	f.Add(`"a";r=-1;t=99999999999999999999`, "Mon, 30 Nov 2026 16:01:00 GMT")
	f.Fuzz(func(t *testing.T, limit, after string) {
		header := http.Header{"Ratelimit": {limit}, "Retry-After": {after}}
		left, reset := rateLimit(header)
		c := &client{budget: mirror.NewBucket(2, 20), base: 2}
		c.adapt(left, reset)
		if got := c.budget.Rate(); got <= 0 || got > 2 {
			t.Errorf("the rate is %v", got)
		}
		if wait := retryAfter(header, time.Unix(0, 0)); wait < 0 || wait > time.Hour {
			t.Errorf("the wait is %s", wait)
		}
	})
}
