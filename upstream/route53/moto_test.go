package route53

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// These tests ask moto (PyPI), which others have made from Amazon's documents. It
// is looser than Route 53 in what it refuses, and so no exam; it shows that what is
// sent and read isn't understood by our own imitation alone.

// moto starts a server and returns its URL, or skips the test where none was asked
// for: `make test-cloud` asks.
func moto(t *testing.T) string {
	t.Helper()
	if os.Getenv("CLUSTERZONE_CLOUD") != "1" {
		t.Skip("moto isn't asked: `make test-cloud` installs and asks it (CLUSTERZONE_CLOUD=1)")
	}
	program := os.Getenv("CLUSTERZONE_MOTO")
	if program == "" {
		t.Fatal("CLUSTERZONE_MOTO is missing: it names the program moto_server, which `make test-cloud` installs")
	}
	cmd := exec.CommandContext(t.Context(), program, "-H", "127.0.0.1", "-p", "0")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("moto_server can't be started: %v", err)
	}
	url := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(url)
		running := regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)
		lines, told := bufio.NewScanner(said), false
		for lines.Scan() {
			if found := running.FindStringSubmatch(lines.Text()); found != nil && !told {
				url <- found[1]
				told = true
			}
		}
	}()
	t.Cleanup(func() {
		// The test's context, which is done by now, kills it too.
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("moto_server can't be ended: %v", err)
		}
		<-done
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() >= 0 {
			t.Errorf("moto_server ended by itself: %v", err)
		}
	})
	found, ok := <-url
	if !ok {
		t.Fatal("moto_server ended before it told its address: run it by hand to see why")
	}
	return found
}

// motoZone makes a hosted zone in moto.
func motoZone(t *testing.T, cloud *mirror.Cloud, name string, private bool) {
	t.Helper()
	in := &sdk.CreateHostedZoneInput{
		Name: aws.String(name), CallerReference: aws.String(t.Name()),
		HostedZoneConfig: &types.HostedZoneConfig{PrivateZone: private},
	}
	if private {
		in.VPC = &types.VPC{VPCId: aws.String("vpc-1"), VPCRegion: types.VPCRegionUsEast1}
	}
	if _, err := cloud.Provider.(*provider).accounts[0].client.CreateHostedZone(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func TestCloudStories(t *testing.T) {
	t.Parallel()
	tell(t, false, func(t *testing.T) mirror.Cloud {
		cloud := openAt(t, moto(t), quick)
		motoZone(t, &cloud, "example.com", false)
		return cloud
	})
}

// TestCloudLarge writes, changes and deletes 3 000 records within the limits of
// requests, and reads them in pages.
func TestCloudLarge(t *testing.T) {
	t.Parallel()
	cloud := openAt(t, moto(t), quick)
	motoZone(t, &cloud, "example.com", false)
	large(t, cloud)
}

func TestCloudZones(t *testing.T) {
	t.Parallel()
	url := moto(t)
	all := openAt(t, url, nil)
	motoZone(t, &all, "example.com", false)
	motoZone(t, &all, "example.net", true)
	list, err := all.Provider.Zones(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("the zones are %v, %v", list, err)
	}
	id := zoneOf(t, &all, "example.net").ID
	if _, err := all.Provider.(*provider).accounts[0].client.ChangeTagsForResource(t.Context(), &sdk.ChangeTagsForResourceInput{
		ResourceId: aws.String(id), ResourceType: types.TagResourceTypeHostedzone, AddTags: []types.Tag{{Key: aws.String("team"), Value: aws.String("dns")}},
	}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Options){
		"example.com": func(o *Options) { o.ZoneType = kindPublic },
		"example.net": func(o *Options) { o.ZoneTags = []string{"team=dns"} },
	} {
		cloud := openAt(t, url, change)
		list, err := cloud.Provider.Zones(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != name(t, want) {
			t.Errorf("the zones are %v, %v, and not %s", list, err, want)
		}
	}
	if _, err := all.Provider.Records(t.Context(), mirror.Zone{ID: "Z0", Name: zones.Root, Handle: &hosted{account: all.Provider.(*provider).accounts[0], id: "Z0"}}); mirror.ClassOf(err, "") != mirror.Failed {
		t.Errorf("a zone that isn't there gives %v", err)
	}
}
