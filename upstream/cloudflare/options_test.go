package cloudflare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for words, change := range map[string]func(*Options){
		"CF_API_TOKEN to an API token":                        func(o *Options) { o.Credentials = Credentials{} },
		"without CF_API_KEY":                                  func(o *Options) { o.Credentials = Credentials{Email: fakeEmail} },
		"without CF_API_EMAIL":                                func(o *Options) { o.Credentials = Credentials{Key: fakeKey} },
		"printable ASCII":                                     func(o *Options) { o.Credentials = Credentials{Token: "two words"} },
		"can't be read":                                       func(o *Options) { o.Credentials = Credentials{Token: "file:/nowhere/token"} },
		"--cloudflare-custom-hostnames asks":                  func(o *Options) { o.CustomHostnames = true },
		"--cloudflare-custom-hostnames-min-tls-version":       func(o *Options) { o.CustomHostnamesMinTLS = "1.2" },
		"--cloudflare-custom-hostnames-certificate-authority": func(o *Options) { o.CustomHostnamesAuthority = "google" },
		"--cloudflare-regional-services":                      func(o *Options) { o.RegionalServices = true },
		"--cloudflare-region-key":                             func(o *Options) { o.RegionKey = "eu" },
		"--cloudflare-dns-records-per-page is 5001":           func(o *Options) { o.PageSize = 5001 },
		"--batch-change-size is 3501":                         func(o *Options) { o.BatchChanges = 3501 },
		"--batch-change-interval is -1ns":                     func(o *Options) { o.BatchInterval = -1 },
		"--cloudflare-record-comment has 501":                 func(o *Options) { o.Comment = long(501) },
		"--cloudflare-record-comment has a line break":        func(o *Options) { o.Comment = "a\nb" },
		"--zone-id-filter has \"a/b\"":                        func(o *Options) { o.ZoneIDs = []string{"a/b"} },
		"plain http or https":                                 func(o *Options) { o.Endpoint = "https://user:pw@api.test/" },
	} {
		options := Options{Credentials: Credentials{Token: fakeToken}, CustomHostnamesMinTLS: "1.0", CustomHostnamesAuthority: "none"}
		if err := options.Check(); err != nil {
			t.Fatal(err)
		}
		change(&options)
		_, err := New(options)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", words, err)
		}
	}
}

func TestWishesThatCloudflareCannotHold(t *testing.T) {
	t.Parallel()
	free, pro := mirror.Zone{Handle: newZone("free")}, mirror.Zone{Handle: newZone("business")}
	n := &normalizer{}
	for words, c := range map[string]struct {
		zone   mirror.Zone
		kind   zones.Type
		target string
		option zones.Option
	}{
		"write true or false":                   {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionProxied, Value: "yes"}},
		"cloudflare-record-comment has":         {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionComment, Value: "a\tb"}},
		"plan Free have no tags":                {free, zones.TypeA, "192.0.2.1", zones.Option{Key: optionTags, Value: "a:b"}},
		`a tag called "a b"`:                    {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionTags, Value: "a b:c"}},
		"longer than 100":                       {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionTags, Value: "a:" + long(101)}},
		"has 21 tags":                           {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionTags, Value: "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u"}},
		"annotation cloudflare-custom-hostname": {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionHostname, Value: "shop.test"}},
		"annotation cloudflare-region-key":      {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: optionRegion, Value: "eu"}},
		"cloudflare/colour is none":             {pro, zones.TypeA, "192.0.2.1", zones.Option{Key: "cloudflare/colour", Value: "orange"}},
		"no data of a SRV record":               {pro, zones.TypeSRV, "0 5 sip.example.net", zones.Option{}},
		"Cloudflare takes 8192":                 {pro, zones.TypeTXT, `"` + long(8500) + `"`, zones.Option{}},
	} {
		r := mirror.Record{Name: name(t, "web.example.com"), Type: c.kind, Targets: []string{c.target}}
		if c.kind == zones.TypeTXT {
			r.Targets = []string{long(8500)}
		}
		if c.option.Key != "" {
			r.Options = []zones.Option{c.option}
		}
		if list, err := n.normalize(c.zone, r); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, %v", words, list, err)
		}
	}
	n.comment = long(300)
	for _, c := range []struct {
		zone   mirror.Zone
		length int
	}{{free, 100}, {pro, 300}} {
		list, err := n.normalize(c.zone, address(t, "web", "192.0.2.1"))
		if comment, _ := list[0].Option(optionComment); err != nil || len(comment) != c.length {
			t.Errorf("the comment has %d characters (%v)", len(comment), err)
		}
	}
	n = &normalizer{proxied: true}
	for kind, target := range map[zones.Type]string{zones.TypeA: "192.0.2.1", zones.TypeTXT: "x", zones.TypeMX: "10 mx.test"} {
		list, err := n.normalize(pro, mirror.Record{Name: name(t, "web.example.com"), Type: kind, Targets: []string{target}, TTL: ttl(300)})
		if _, proxied := list[0].Option(optionProxied); err != nil || proxied != (kind == zones.TypeA) || list[0].TTL.Set == proxied {
			t.Errorf("%s is proxied: %v, with TTL %v (%v)", kind, proxied, list[0].TTL, err)
		}
	}
	if minimum := planOf("", "Enterprise Website").minTTL(); minimum != 30 {
		t.Errorf("the least TTL of an enterprise zone is %d", minimum)
	}
	if p := planOf("unheard-of", "Something"); p != "" || p.records(newZone("free").Created) != 0 {
		t.Errorf("an unknown plan is %q", p)
	}
}

func newZone(legacyID string) *zone {
	z := &zone{}
	z.Plan.LegacyID = legacyID
	return z
}

// Nothing that a credential stands in is ever printed: options in any form, errors of
// calls, those that repeat what was sent among them.
func TestNothingShowsSecrets(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	plain := slog.New(slog.NewTextHandler(&out, nil))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("  "+fakeToken+"x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []Credentials{{Token: fakeToken}, {Token: fakeToken + "x"}, {Key: fakeKey, Email: fakeEmail}, {Key: fakeKey + "x", Email: fakeEmail}, {Token: Secret(filePrefix + file)}} {
		f := newFake("pro")
		cloud := open(t, f, func(o *Options) {
			o.Credentials = c
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
				fmt.Fprintf(&out, verb+"\n", *o)
				fmt.Fprintf(&out, verb+"\n", o.Credentials.Token)
			}
			text, err := json.Marshal(o.Credentials)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(text)
			log.Info("options", "credentials", o.Credentials, "token", o.Credentials.Token)
			plain.Info("options", "credentials", o.Credentials, "token", o.Credentials.Token)
		})
		zone := mirror.Zone{ID: zoneID, Name: name(t, "example.com")}
		_, first := cloud.Provider.Zones(t.Context())
		f.trouble = func(_ int, r *http.Request) trouble {
			return trouble{status: 400, body: fmt.Sprintf(`{"success":false,"errors":[{"code":9999,"message":"you sent %s %s %s"}]}`, r.Header.Get("Authorization"), r.Header.Get("X-Auth-Key"), r.Header.Get("X-Auth-Email"))}
		}
		_, second := cloud.Provider.Records(t.Context(), zone)
		third := cloud.Provider.Apply(t.Context(), zone, []mirror.Group{create(address(t, "web", "192.0.2.1"))})[0].Err
		for _, err := range []error{first, second, third} {
			log.Error("failed", "error", err)
			fmt.Fprintf(&out, "%v %+v %#v\n", err, err, err)
		}
		if second == nil || third == nil || !strings.Contains(second.Error(), hidden) {
			t.Errorf("the calls didn't fail as they should: %v, %v", second, third)
		}
		fmt.Fprintf(&out, "%+v", cloud)
		if _, err := cloud.Provider.Zones(t.Context()); err != nil {
			fmt.Fprintf(&out, "%+v", err)
		}
	}
	for _, secret := range []string{fakeToken, fakeKey, fakeEmail, fmt.Sprintf("%x", fakeToken), fmt.Sprintf("%X", fakeKey)} {
		if at := strings.Index(out.String(), secret); at >= 0 {
			t.Errorf("a secret is printed: ...%s", out.String()[max(0, at-200):at+len(secret)])
		}
	}
}

func TestCredentialsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("wrong\n")
	environment := map[string]string{"CF_API_TOKEN": " file:" + file + "\n", "CF_API_KEY": fakeKey, "CF_API_EMAIL": fakeEmail}
	credentials := FromEnvironment(func(name string) string { return environment[name] })
	cloud := open(t, newFake("pro"), func(o *Options) { o.Credentials = credentials })
	_, err := cloud.Provider.Zones(t.Context())
	want(t, err, mirror.Denied, "Invalid access token "+hidden, "CF_API_TOKEN")
	write(fakeToken + "\n") // it is changed while the program runs
	if _, err := cloud.Provider.Zones(t.Context()); err != nil {
		t.Error(err)
	}
	write("")
	_, err = cloud.Provider.Zones(t.Context())
	want(t, err, mirror.Denied, "is empty")
	delete(environment, "CF_API_TOKEN")
	credentials = FromEnvironment(func(name string) string { return environment[name] })
	cloud = open(t, newFake("pro"), func(o *Options) { o.Credentials = credentials })
	if _, err := cloud.Provider.Zones(t.Context()); err != nil {
		t.Error(err)
	}
}

// Over a real connection: the endpoint's path stays, and no redirect is followed, which
// would take the token elsewhere.
func TestTheTokenGoesNowhereElse(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/proxy/v4/zones" || r.Header.Get("Authorization") != "Bearer "+fakeToken {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	cloud, err := New(Options{Credentials: Credentials{Token: fakeToken}, Endpoint: server.URL + "/proxy/v4"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.Provider.Zones(t.Context())
	want(t, err, mirror.Failed, "307")
}
