package alibaba

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// A ZoneType says which of the two products holds the zones.
type ZoneType string

// The zone types, as --alibaba-cloud-zone-type spells them. "" is Public, as it
// is for external-dns.
const (
	Public  ZoneType = "public"
	Private ZoneType = "private"
)

// Options are what an account's zones are found and written with. They hold no
// secrets: these are read when they are needed.
type Options struct {
	// ZoneType is the product; "" is Public.
	ZoneType ZoneType
	// ConfigFile is a file with regionId, vpcId, accessKeyId and accessKeySecret,
	// JSON or YAML. Keys are read anew for each call, region and VPC once. "", or a
	// file without keys, leaves the credentials to Alibaba's chain: environment, RRSA
	// (OIDC), profiles, RAM role of the instance, URI.
	ConfigFile string
	// Domains tells the zones that are looked at; nil for all of the account.
	Domains func(zones.Name) bool
	// MinTTL is the lowest TTL that is written, in seconds. 0 asks each public zone
	// for that of its edition (600 where that is not allowed), and is 60 in private
	// zones.
	MinTTL uint32
	// Rate is how many calls a second are made at most; 0 is 5. Throttling halves
	// it for a while.
	Rate float64
	// Backoff is the first wait after a call was throttled, doubled each time; 0 is
	// one second.
	Backoff time.Duration
	// Endpoint is the URL of the API; "" is the product's central one. Other
	// schemes than https are for loopback addresses only.
	Endpoint string
}

const (
	publicEndpoint  = "https://alidns.aliyuncs.com"
	privateEndpoint = "https://pvtz.aliyuncs.com"

	defaultRate = 5 // neither product publishes a limit; both throttle adaptively
	minRate     = 0.2

	// unknownMinTTL is the highest lowest TTL of any edition: each takes it.
	unknownMinTTL = 600
	privateMinTTL = 60
	maxTTL        = 86400
)

// New checks the options and returns the cloud. It reads the configuration file
// and sends nothing. Errors name the flag or key, and hold no secret. The
// provider is safe for concurrent use.
func New(options Options) (mirror.Cloud, error) {
	if err := noDebugging(); err != nil {
		return mirror.Cloud{}, err
	}
	if !slices.Contains([]ZoneType{"", Public, Private}, options.ZoneType) {
		return mirror.Cloud{}, fmt.Errorf("--alibaba-cloud-zone-type=%s: write public or private", options.ZoneType)
	}
	if options.MinTTL > maxTTL {
		return mirror.Cloud{}, fmt.Errorf("a lowest TTL of %d is above the highest of Alibaba Cloud, %d", options.MinTTL, maxTTL)
	}
	keys := chainKeys()
	var config config
	if options.ConfigFile != "" {
		var err error
		if config, err = readConfig(options.ConfigFile); err != nil {
			return mirror.Cloud{}, err
		}
		if config.keys != (secrets{}) {
			keys = fileKeys(options.ConfigFile)
		}
	}
	private := options.ZoneType == Private
	if private && (config.vpc == "") != (config.region == "") {
		return mirror.Cloud{}, fmt.Errorf("--alibaba-cloud-config-file=%s: vpcId and regionId tell the private zones together: write both or neither", options.ConfigFile)
	}
	endpoint := options.Endpoint
	switch {
	case endpoint != "":
	case private:
		endpoint = privateEndpoint
	default:
		endpoint = publicEndpoint
	}
	where, err := parseEndpoint(endpoint)
	if err != nil {
		return mirror.Cloud{}, err
	}
	caller := newCaller(where, keys, options)
	p := &provider{options: options}
	limits := mirror.Limits{
		BatchChanges: 20, // some eight seconds at the usual rate, after which the leader may be another
		BatchValues:  100,
		ReadNames:    5,
		MaxTTL:       maxTTL,
		NoAsterisk:   true,
	}
	if private {
		p.api = &privateAPI{caller: caller, vpc: config.vpc, region: config.region}
		limits.Types = []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT, zones.TypeMX, zones.TypePTR, zones.TypeSRV}
		limits.MaxRecords = 100000
	} else {
		p.api = &publicAPI{caller: caller, options: options, minTTLs: map[edition]uint32{}}
		limits.Types = []zones.Type{zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeTXT, zones.TypeMX, zones.TypeNS, zones.TypeSRV}
	}
	return mirror.Cloud{
		Name: "alibabacloud", Provider: p, Limits: limits, Family: "alibabacloud",
		Normalize: normalizer(options), Place: place,
	}, nil
}

// parseEndpoint lets no credential go over a network in the clear.
func parseEndpoint(text string) (*url.URL, error) {
	where, err := url.Parse(text)
	if err != nil || where.Host == "" || where.Path != "" && where.Path != "/" {
		return nil, fmt.Errorf("%q is no endpoint of Alibaba Cloud; write it as %s", text, publicEndpoint)
	}
	host := where.Hostname()
	if where.Scheme != "https" && (where.Scheme != "http" || host != "127.0.0.1" && host != "::1" && host != "localhost") {
		return nil, fmt.Errorf("the endpoint %s of Alibaba Cloud isn't encrypted; write https", text)
	}
	return where, nil
}

// noDebugging refuses the switch by which Alibaba's libraries print their
// requests, session tokens among them, to the standard output.
func noDebugging() error {
	for word := range strings.SplitSeq(os.Getenv("DEBUG"), ",") {
		if word == "tea" || word == "credential" {
			return errors.New("the environment variable DEBUG has Alibaba's libraries print credentials: unset it")
		}
	}
	return nil
}
