package route53

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// The messages of the protocol, as requests and replies have them.
type (
	fakeSet struct {
		Name                    string
		Type                    string
		SetIdentifier           string `xml:",omitempty"`
		Weight                  *int64
		Region                  string `xml:",omitempty"`
		GeoLocation             *fakeGeo
		Failover                string `xml:",omitempty"`
		MultiValueAnswer        *bool
		TTL                     *int64
		Values                  *fakeValues `xml:"ResourceRecords"`
		AliasTarget             *fakeAlias
		HealthCheckID           string `xml:"HealthCheckId,omitempty"`
		TrafficPolicyInstanceID string `xml:"TrafficPolicyInstanceId,omitempty"`
		GeoProximityLocation    *fakeNear
	}
	fakeValues struct {
		Value []string `xml:"ResourceRecord>Value"`
	}
	fakeGeo struct {
		ContinentCode   string `xml:",omitempty"`
		CountryCode     string `xml:",omitempty"`
		SubdivisionCode string `xml:",omitempty"`
	}
	fakeNear struct {
		AWSRegion      string `xml:",omitempty"`
		LocalZoneGroup string `xml:",omitempty"`
		Coordinates    *struct{ Latitude, Longitude string }
		Bias           *int32
	}
	fakeAlias struct {
		HostedZoneID         string `xml:"HostedZoneId"`
		DNSName              string
		EvaluateTargetHealth bool
	}
	fakeChange struct {
		Action string
		Set    fakeSet `xml:"ResourceRecordSet"`
	}
	fakeRequest struct {
		Changes []fakeChange `xml:"ChangeBatch>Changes>Change"`
	}
	fakeHosted struct {
		ID     string `xml:"Id"`
		Name   string
		Config struct{ PrivateZone bool }
		Count  int64 `xml:"ResourceRecordSetCount"`
	}
	fakeZoneOut struct {
		XMLName    xml.Name
		HostedZone fakeHosted
	}
	fakeZonesOut struct {
		XMLName     xml.Name     `xml:"ListHostedZonesResponse"`
		Zones       []fakeHosted `xml:"HostedZones>HostedZone"`
		Marker      string       `xml:",omitempty"`
		IsTruncated bool
		NextMarker  string `xml:",omitempty"`
		MaxItems    string
	}
	fakeTag    struct{ Key, Value string }
	fakeTagSet struct {
		Type string    `xml:"ResourceType"`
		ID   string    `xml:"ResourceId"`
		Tags []fakeTag `xml:"Tags>Tag"`
	}
	fakeTagsOut struct {
		XMLName xml.Name     `xml:"ListTagsForResourcesResponse"`
		Sets    []fakeTagSet `xml:"ResourceTagSets>ResourceTagSet"`
	}
	fakeSetsOut struct {
		XMLName              xml.Name  `xml:"ListResourceRecordSetsResponse"`
		Sets                 []fakeSet `xml:"ResourceRecordSets>ResourceRecordSet"`
		IsTruncated          bool
		NextRecordName       string `xml:",omitempty"`
		NextRecordType       string `xml:",omitempty"`
		NextRecordIdentifier string `xml:",omitempty"`
		MaxItems             string
	}
	fakeChangeOut struct {
		XMLName    xml.Name `xml:"ChangeResourceRecordSetsResponse"`
		ChangeInfo struct {
			ID                  string `xml:"Id"`
			Status, SubmittedAt string
		}
	}
	fakeInvalidOut struct {
		XMLName  xml.Name `xml:"InvalidChangeBatch"`
		Messages []string `xml:"Messages>Message"`
	}
	fakeErrorOut struct {
		XMLName xml.Name `xml:"ErrorResponse"`
		Error   struct{ Type, Code, Message string }
	}
)

// MarshalXML writes each value in an element of its own.
func (v fakeValues) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	type one struct{ Value string }
	var list []one
	for _, value := range v.Value {
		list = append(list, one{value})
	}
	return e.EncodeElement(struct {
		List []one `xml:"ResourceRecord"`
	}{list}, start)
}

type fakeKey struct{ name, kind, set string }

func (s *fakeSet) key() fakeKey { return fakeKey{s.Name, s.Type, s.SetIdentifier} }

func (k fakeKey) compare(other fakeKey) int {
	return cmp.Or(compareNames(k.name, other.name), cmp.Compare(k.kind, other.kind), cmp.Compare(k.set, other.set))
}

// compareNames orders names label by label from the right.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		a, x = lastLabel(a)
		b, y = lastLabel(b)
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

func lastLabel(name string) (rest, label string) {
	name = strings.TrimSuffix(name, ".")
	i := strings.LastIndexByte(name, '.')
	return name[:i+1], name[i+1:]
}

// put and drop keep what is known of the sets in step.
func (z *fakeZone) put(set fakeSet) {
	key := set.key()
	if z.sets == nil {
		z.sets, z.at = map[fakeKey]fakeSet{}, map[string][]fakeKey{}
	}
	if _, there := z.sets[key]; !there {
		z.at[key.name] = append(slices.Clone(z.at[key.name]), key)
	}
	z.sets[key], z.order = set, nil
}

func (z *fakeZone) drop(key fakeKey) {
	z.at[key.name] = slices.DeleteFunc(slices.Clone(z.at[key.name]), func(k fakeKey) bool { return k == key })
	delete(z.sets, key)
	z.order = nil
}

// encoded is a name as replies have it: in lower case, escaped, with a final dot.
func encoded(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	var out strings.Builder
	for _, c := range []byte(name) {
		if c == '*' {
			fmt.Fprintf(&out, "\\%03o", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String() + "."
}

// apply makes all changes, or none and says why.
func (z *fakeZone) apply(changes []fakeChange) (messages []string) {
	elements, chars := 0, 0
	for i := range changes {
		set := &changes[i].Set
		set.Name = encoded(set.Name)
		if set.AliasTarget != nil {
			set.AliasTarget.DNSName = encoded(set.AliasTarget.DNSName)
		}
		weight := 1
		if changes[i].Action == "UPSERT" {
			weight = 2
		}
		if set.Values == nil {
			elements++
			continue
		}
		for _, value := range set.Values.Value {
			elements += weight
			chars += weight * len(value)
		}
	}
	if elements > 1000 {
		return []string{"Number of records limit of 1000 exceeded."}
	}
	if chars > 32000 {
		return []string{"Number of characters limit of 32000 exceeded."}
	}
	sets, at := maps.Clone(z.sets), maps.Clone(z.at)
	for i := range changes {
		if message := z.applyOne(&changes[i]); message != "" {
			messages = append(messages, message)
		}
	}
	if len(messages) > 0 {
		z.sets, z.at, z.order = sets, at, nil
	}
	return messages
}

func (z *fakeZone) applyOne(change *fakeChange) string {
	set := change.Set
	key := set.key()
	have, there := z.sets[key]
	words := fmt.Sprintf("[name='%s', type='%s'", set.Name, set.Type)
	if set.SetIdentifier != "" {
		words += fmt.Sprintf(", set-identifier='%s'", set.SetIdentifier)
	}
	words += "]"
	switch change.Action {
	case "DELETE":
		switch {
		case !there:
			return "Tried to delete resource record set " + words + " but it was not found"
		case !reflect.DeepEqual(have, set):
			return "Tried to delete resource record set " + words + " but the values provided do not match the current values"
		}
		z.drop(key)
		return ""
	case "CREATE":
		if there {
			return "Tried to create resource record set " + words + " but it already exists"
		}
	case "UPSERT":
		if there && (have.AliasTarget == nil) != (set.AliasTarget == nil) {
			return "Tried to write over " + words + ": an alias and values exclude each other"
		}
	}
	if message := z.illegal(&set); message != "" {
		return message
	}
	z.put(set)
	return ""
}

// illegal says why a record set can't be.
func (z *fakeZone) illegal(set *fakeSet) string {
	if !strings.HasSuffix("."+set.Name, "."+z.name) {
		return fmt.Sprintf("RRSet with DNS name %s is not permitted in zone %s", set.Name, z.name)
	}
	for _, key := range z.at[set.Name] {
		other := z.sets[key]
		switch {
		case other.Type != set.Type && (other.Type == "CNAME" || set.Type == "CNAME"):
			return fmt.Sprintf("RRSet of type %s with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s", set.Type, set.Name, z.name)
		case other.Type == set.Type && other.SetIdentifier != set.SetIdentifier && other.policy() != set.policy():
			return fmt.Sprintf("RRSet with DNS name %s, type %s, SetIdentifier %s cannot be created as other RRSets exist with the same name and type", set.Name, set.Type, set.SetIdentifier)
		}
	}
	if alias := set.AliasTarget; alias != nil {
		if set.TTL != nil || set.Values != nil || set.MultiValueAnswer != nil {
			return "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords]]"
		}
		if alias.HostedZoneID == z.id && !strings.HasSuffix("."+alias.DNSName, "."+z.name) {
			return fmt.Sprintf("Tried to create an alias that targets %s, type %s in zone %s, but the alias target name does not lie within the target zone", alias.DNSName, set.Type, z.id)
		}
		if alias.HostedZoneID == cloudFront && alias.EvaluateTargetHealth {
			return fmt.Sprintf("EvaluateTargetHealth must be false for the alias that targets %s", alias.DNSName)
		}
		return ""
	}
	if set.TTL == nil || set.Values == nil || len(set.Values.Value) == 0 || (set.SetIdentifier != "") != (set.policy() != "") {
		return fmt.Sprintf("Invalid request for RRSet with DNS name %s", set.Name)
	}
	for i, value := range set.Values.Value {
		if slices.Contains(set.Values.Value[:i], value) {
			return "Duplicate Resource Record: '" + value + "'"
		}
		if !legal(set.Type, value) {
			return "Invalid Resource Record: 'FATAL problem: InvalidValue (Value is not valid) encountered with '" + value + "''"
		}
	}
	return ""
}

func legal(kind, value string) bool {
	switch kind {
	case "A", "AAAA":
		addr, err := netip.ParseAddr(value)
		return err == nil && addr.Is4() == (kind == "A")
	case "TXT":
		return strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`) && longestString(decimal(value)) <= 255 && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
	}
	parsed, err := zones.ParseType(kind)
	if err != nil {
		return false
	}
	_, err = zones.ParseRdata(parsed, value)
	return err == nil
}

func (s *fakeSet) policy() string {
	switch {
	case s.Weight != nil:
		return "weighted"
	case s.Region != "":
		return "latency"
	case s.GeoLocation != nil:
		return "geolocation"
	case s.Failover != "":
		return "failover"
	case s.MultiValueAnswer != nil:
		return "multivalue"
	case s.GeoProximityLocation != nil:
		return "geoproximity"
	}
	return ""
}
