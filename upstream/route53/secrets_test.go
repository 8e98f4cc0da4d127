package route53

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/clusterzone/clusterzone/upstream/mirror"
)

// profiles writes a shared configuration with two profiles.
func profiles(t *testing.T) func(*config.LoadOptions) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[one]\naws_access_key_id=AKIDONE\naws_secret_access_key=first-secret\n[two]\naws_access_key_id=AKIDTWO\naws_secret_access_key=second-secret\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(o *config.LoadOptions) error {
		o.SharedConfigFiles, o.SharedCredentialsFiles = []string{}, []string{file}
		return nil
	}
}

// A server that repeats all that it was sent, in each way in which AWS says no, must
// not bring what requests are signed with into an error.
func TestErrorsHoldNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	quiet := openAt(t, f.URL, nil)
	zone := zoneOf(t, &quiet, "example.com")
	for _, code := range []string{
		"SignatureDoesNotMatch", "InvalidSignatureException", "AccessDenied", "InvalidClientTokenId", "ExpiredToken", "Throttling", "NoSuchHostedZone",
		"InvalidInput", "InvalidChangeBatch", "InternalError", "",
	} {
		f.setFault(func(c call) *failure {
			status := http.StatusForbidden
			if code == "InternalError" {
				status = http.StatusInternalServerError
			}
			said := "the canonical string should have been " + c.request.Header.Get("Authorization") + " " + c.request.Header.Get("X-Amz-Security-Token") + " " + testSecret
			return &failure{status: status, code: code, message: said}
		})
		var errs []error
		_, err := quiet.Provider.Zones(t.Context())
		errs = append(errs, err)
		_, err = quiet.Provider.Records(t.Context(), zone)
		errs = append(errs, err)
		for _, result := range quiet.Provider.Apply(t.Context(), zone, creates(records(t, "a.example.com A 192.0.2.1", "b.example.com A 192.0.2.1")...)) {
			errs = append(errs, result.Err)
		}
		for _, err := range errs {
			if err == nil {
				t.Fatalf("%s: there is no error", code)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				for _, secret := range []string{testKey, testSecret, testToken} {
					if strings.Contains(e.Error(), secret) {
						t.Errorf("%s: an error holds %s: %s", code, secret, e)
					}
				}
			}
		}
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	f := newFake(t, "Z1 example.com")
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no role is attached")
	})
	cloud, err := open(t.Context(), Options{Endpoint: f.URL}, withoutMachine, config.WithCredentialsProvider(none))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cloud.Provider.Zones(t.Context())
	const want = "the hosted zones can't be listed: no credentials were found (no role is attached): set AWS_ACCESS_KEY_ID"
	if mirror.ClassOf(err, "") != mirror.Denied || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v", err)
	}
	if len(f.calls) > 0 {
		t.Errorf("%d requests were sent", len(f.calls))
	}
}

// The role is assumed with the external ID, and what STS refuses is told without it.
func TestAssumesRole(t *testing.T) {
	t.Parallel()
	const role, external = "arn:aws:iam::123456789012:role/dns", "an-external-id-of-ours"
	refuse := make(chan bool, 1)
	asked := make(chan string, 2)
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.FormValue("RoleArn") + " " + r.FormValue("ExternalId") + " " + r.FormValue("RoleSessionName")
		w.Header().Set("Content-Type", "text/xml")
		text := `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey>` +
			`<SessionToken>role-token</SessionToken><Expiration>2096-01-02T03:04:05Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`
		if <-refuse {
			w.WriteHeader(http.StatusForbidden)
			text = `<ErrorResponse><Error><Code>AccessDenied</Code><Message>the external ID ` + external + ` isn't that of the role</Message></Error></ErrorResponse>`
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(sts.Close)
	f := newFake(t, "Z1 example.com")
	options := Options{Endpoint: f.URL, AssumeRole: role, ExternalID: external, Profiles: []string{"one"}, Retries: 1}
	at := func(o *config.LoadOptions) error {
		o.BaseEndpoint = sts.URL
		return nil
	}
	for _, refused := range []bool{false, true} {
		cloud, err := open(t.Context(), options, profiles(t), at)
		if err != nil {
			t.Fatal(err)
		}
		refuse <- refused
		_, err = cloud.Provider.Zones(t.Context())
		if got, want := <-asked, role+" "+external+" clusterzone"; got != want {
			t.Errorf("STS is asked for %q, and not for %q", got, want)
		}
		switch {
		case !refused && err != nil:
			t.Error(err)
		case !refused && !strings.Contains(f.calls[0].request.Header.Get("Authorization"), "ASIAROLE"):
			t.Error("the request isn't signed by the role")
		case refused && (mirror.ClassOf(err, "") != mirror.Denied || strings.Contains(err.Error(), external) || !strings.Contains(err.Error(), "AccessDenied")):
			t.Errorf("the error is %v", err)
		}
	}
}
