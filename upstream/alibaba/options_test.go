package alibaba_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/upstream/alibaba"
	"github.com/clusterzone/clusterzone/upstream/alibaba/alibabatest"
	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

const hush = "hush-hush"

func TestBadOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		file    string // of the configuration; "" for none
		options alibaba.Options
		want    string
	}{
		"zone type":         {"", alibaba.Options{ZoneType: "internal"}, "--alibaba-cloud-zone-type=internal: write public or private"},
		"no file":           {"", alibaba.Options{ConfigFile: "/nonexistent/file"}, "mount it, or leave the flag empty"},
		"not YAML":          {"accessKeySecret: " + hush + "\n: : [", alibaba.Options{}, "it is neither JSON nor YAML"},
		"not YAML, by name": {"regionId: x\naccessKeySecret: *" + hush, alibaba.Options{}, "it is neither JSON nor YAML"},
		"empty":             {"\n", alibaba.Options{}, "it holds no keys"},
		"a list":            {"- " + hush, alibaba.Options{}, "it holds no keys"},
		"unknown key":       {"regionId: x\n" + hush + ": y", alibaba.Options{}, "line 2 has a key that isn't known"},
		"list for a text":   {"accessKeySecret: [" + hush + "]", alibaba.Options{}, "line 1: accessKeySecret isn't a text"},
		"secret alone":      {"accessKeySecret: " + hush, alibaba.Options{}, "accessKeyId is missing beside accessKeySecret"},
		"ID alone":          {"accessKeyId: " + hush, alibaba.Options{}, "accessKeySecret is missing beside accessKeyId"},
		"VPC alone":         {"vpcId: vpc-1", alibaba.Options{ZoneType: alibaba.Private}, "vpcId and regionId tell the private zones together"},
		"TTL":               {"", alibaba.Options{MinTTL: 90000}, "a lowest TTL of 90000 is above the highest"},
		"in the clear":      {"", alibaba.Options{Endpoint: "http://alidns.aliyuncs.com"}, "isn't encrypted; write https"},
		"no endpoint":       {"", alibaba.Options{Endpoint: "alidns.aliyuncs.com"}, "is no endpoint of Alibaba Cloud"},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if c.file != "" {
				c.options.ConfigFile = keyFile(t, c.file)
			}
			_, err := alibaba.New(c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), hush) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error holds a secret, or lines: %v", err)
			}
		})
	}
}

// Keys that are rotated in the file are used from the next call on.
func TestKeysAreReadAnew(t *testing.T) {
	t.Parallel()
	fake := alibabatest.New(t, alibabatest.Zone{ID: "example.com", Name: "example.com"})
	path := keyFile(t, "accessKeyId: LTAIold\naccessKeySecret: hush\n")
	cloud := open(t, fake, alibaba.Options{ConfigFile: path, MinTTL: 600})
	for _, id := range []string{"LTAIold", "LTAInew"} {
		if err := os.WriteFile(path, fmt.Appendf(nil, "accessKeyId: %s\naccessKeySecret: hush\n", id), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cloud.Provider.Zones(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls := fake.Calls(); calls[len(calls)-1].KeyID != id {
			t.Errorf("the call was signed with %s, want %s", calls[len(calls)-1].KeyID, id)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := cloud.Provider.Zones(t.Context()); mirror.ClassOf(err, "none") != mirror.Denied {
		t.Errorf("without the file it gives %v", err)
	}
}

// emptyChain takes from the environment all that Alibaba's chain looks at.
func emptyChain(t *testing.T) {
	t.Helper()
	for _, key := range []string{"ACCESS_KEY_ID", "ACCESS_KEY_SECRET", "SECURITY_TOKEN", "ROLE_ARN", "OIDC_PROVIDER_ARN", "OIDC_TOKEN_FILE", "CREDENTIALS_URI", "PROFILE", "CREDENTIALS_FILE", "CONFIG_FILE"} {
		t.Setenv("ALIBABA_CLOUD_"+key, "")
	}
	t.Setenv("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
	t.Setenv("ALIBABA_CLOUD_CLI_PROFILE_DISABLED", "true")
	t.Setenv("HOME", t.TempDir())
}

func TestTheChainOfCredentials(t *testing.T) {
	fake := alibabatest.New(t, alibabatest.Zone{ID: "example.com", Name: "example.com"})
	region := keyFile(t, "regionId: cn-hangzhou\nvpcId: vpc-1\n")
	zonesWith := func(t *testing.T) error {
		t.Helper()
		fake.Forget()
		_, err := open(t, fake, alibaba.Options{MinTTL: 600, ConfigFile: region}).Provider.Zones(t.Context())
		return err
	}
	t.Run("nothing", func(t *testing.T) {
		emptyChain(t)
		err := zonesWith(t)
		if mirror.ClassOf(err, "none") != mirror.Denied || !strings.Contains(err.Error(), "no credentials of Alibaba Cloud were found") || len(fake.Calls()) > 0 {
			t.Errorf("it gives %v", err)
		}
	})
	t.Run("environment", func(t *testing.T) {
		emptyChain(t)
		t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "LTAIenv")
		t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", hush)
		t.Setenv("ALIBABA_CLOUD_SECURITY_TOKEN", "token-"+hush)
		if err := zonesWith(t); err != nil {
			t.Fatal(err)
		}
		if call := fake.Calls()[0]; call.KeyID != "LTAIenv" || !call.Token {
			t.Errorf("the call came with %s, token %v", call.KeyID, call.Token)
		}
	})
	t.Run("URI", func(t *testing.T) {
		emptyChain(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"Code":"Success","AccessKeyId":"STS.uri","AccessKeySecret":%q,"SecurityToken":"t","Expiration":%q}`, hush, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		}))
		t.Cleanup(server.Close)
		t.Setenv("ALIBABA_CLOUD_CREDENTIALS_URI", server.URL)
		if err := zonesWith(t); err != nil {
			t.Fatal(err)
		}
		if call := fake.Calls()[0]; call.KeyID != "STS.uri" || !call.Token {
			t.Errorf("the call came with %s, token %v", call.KeyID, call.Token)
		}
	})
	t.Run("a service that answers nothing doesn't hold up who gives up", func(t *testing.T) {
		emptyChain(t)
		asked, free := make(chan struct{}, 10), make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-free
		}))
		t.Cleanup(server.Close)
		t.Cleanup(func() { close(free) })
		t.Setenv("ALIBABA_CLOUD_CREDENTIALS_URI", server.URL)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		_, err := open(t, fake, alibaba.Options{MinTTL: 600, ConfigFile: region}).Provider.Zones(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it gives %v", err)
		}
	})
	t.Run("debugging", func(t *testing.T) {
		t.Setenv("DEBUG", "x,tea")
		if _, err := alibaba.New(alibaba.Options{}); err == nil || !strings.Contains(err.Error(), "unset it") {
			t.Errorf("it gives %v", err)
		}
	})
}

// No secret shows in anything that is printed, not even where the API repeats what
// was sent to it.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	const id, secret = "LTAIsecretid", "s3cr3t/+value"
	var said []string
	for _, code := range []string{"SignatureDoesNotMatch", "InternalError", "QuotaExceeded.Record", "Throttling.User", ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if code == "" {
				fmt.Fprintf(w, `{"TotalCount": "%s %s"}`, id, secret)
				return
			}
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"Code":%q,"Message":"server string to sign is %s %s %s"}`, code, id, secret, strings.ReplaceAll(r.Header.Get("Authorization"), `"`, ""))
		}))
		t.Cleanup(server.Close)
		cloud, err := alibaba.New(alibaba.Options{
			ConfigFile: keyFile(t, fmt.Sprintf(`{"accessKeyId":%q,"accessKeySecret":%q}`, id, secret)),
			Endpoint:   server.URL, Rate: 1e6, Backoff: time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		zone := mirror.Zone{ID: "example.com", Name: name(t, "example.com")}
		_, err = cloud.Provider.Zones(t.Context())
		said = append(said, fmt.Sprint(err), fmt.Sprintf("%#v", err))
		_, err = cloud.Provider.Records(t.Context(), zone)
		said = append(said, fmt.Sprint(err))
		r := mirror.Record{Name: zone.Name, Type: zones.TypeA, Targets: []string{"192.0.2.1"}}
		for _, result := range cloud.Provider.Apply(t.Context(), zone, []mirror.Group{{Name: r.Name, Changes: []mirror.Change{create(r)}}}) {
			said = append(said, fmt.Sprint(result.Err))
		}
		said = append(said, fmt.Sprintf("%v %+v", cloud, cloud.Provider))
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	cloud, err := alibaba.New(alibaba.Options{ConfigFile: keyFile(t, fmt.Sprintf(`{"accessKeyId":%q,"accessKeySecret":%q}`, id, secret)), Endpoint: closed.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.Provider.Zones(t.Context())
	said = append(said, fmt.Sprint(err))
	for _, text := range said {
		if text == "<nil>" {
			t.Error("a call that should fail didn't")
		}
		for _, hidden := range []string{id, secret, "s3cr3t"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%q shows %s", text, hidden)
			}
		}
	}
}

// What the package prints goes through errors alone: no file of it has another way
// out, so that the greps above see everything.
func TestNothingIsLogged(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`"log"`, `"log/slog"`, "os.Std", "fmt.Print"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s has %s", file, bad)
			}
		}
	}
}
