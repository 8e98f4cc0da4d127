package route53

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// The options, as external-dns names them. Its annotations have "aws-" in place of
// "aws/".
const (
	optionZone       = "aws/hosted-zone-id"
	optionTargetZone = "aws/target-hosted-zone"
	optionEvaluate   = "aws/evaluate-target-health"

	optionHealthCheck  = "aws/health-check-id"
	optionWeight       = "aws/weight"
	optionRegion       = "aws/region"
	optionFailover     = "aws/failover"
	optionMultiValue   = "aws/multi-value-answer"
	optionContinent    = "aws/geolocation-continent-code"
	optionCountry      = "aws/geolocation-country-code"
	optionSubdivision  = "aws/geolocation-subdivision-code"
	optionNearRegion   = "aws/geoproximity-region"
	optionNearGroup    = "aws/geoproximity-local-zone-group"
	optionCoordinates  = "aws/geoproximity-coordinates"
	optionBias         = "aws/geoproximity-bias"
	familyPrefix       = "aws/"
	annotationPrefix   = "aws-"
	maxWeight, maxBias = 255, 99
)

// policies gives the routing policy that an option belongs to.
func policies() map[string]string {
	return map[string]string{
		optionWeight: "weighted", optionRegion: "latency", optionFailover: "failover", optionMultiValue: "multivalue answer",
		optionContinent: "geolocation", optionCountry: "geolocation", optionSubdivision: "geolocation",
		optionNearRegion: "geoproximity", optionNearGroup: "geoproximity", optionCoordinates: "geoproximity", optionBias: "geoproximity",
	}
}

// routingOf returns the options of a record set's routing policy.
func routingOf(set *types.ResourceRecordSet) []zones.Option {
	var list []zones.Option
	add := func(key string, value *string) {
		if value != nil && *value != "" {
			list = append(list, zones.Option{Key: key, Value: *value})
		}
	}
	add(optionHealthCheck, set.HealthCheckId)
	if set.Weight != nil {
		add(optionWeight, aws.String(strconv.FormatInt(*set.Weight, 10)))
	}
	add(optionRegion, aws.String(string(set.Region)))
	add(optionFailover, aws.String(string(set.Failover)))
	if aws.ToBool(set.MultiValueAnswer) {
		add(optionMultiValue, aws.String("true"))
	}
	if geo := set.GeoLocation; geo != nil {
		add(optionContinent, geo.ContinentCode)
		add(optionCountry, geo.CountryCode)
		add(optionSubdivision, geo.SubdivisionCode)
	}
	if near := set.GeoProximityLocation; near != nil {
		add(optionNearRegion, near.AWSRegion)
		add(optionNearGroup, near.LocalZoneGroup)
		if c := near.Coordinates; c != nil {
			add(optionCoordinates, aws.String(degrees(aws.ToString(c.Latitude))+","+degrees(aws.ToString(c.Longitude))))
		}
		add(optionBias, aws.String(strconv.Itoa(int(aws.ToInt32(near.Bias)))))
	}
	sortOptions(list)
	return list
}

// degrees is one spelling of a number, so that equal ones are equal texts.
func degrees(text string) string {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// route sets the fields of a record set by options in their normal form.
func route(set *types.ResourceRecordSet, r *mirror.Record) error {
	for _, option := range r.Options {
		value := option.Value
		switch option.Key {
		case optionHealthCheck:
			set.HealthCheckId = aws.String(value)
		case optionWeight:
			weight, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%s=%s is no number", option.Key, value)
			}
			set.Weight = aws.Int64(weight)
		case optionRegion:
			set.Region = types.ResourceRecordSetRegion(value)
		case optionFailover:
			set.Failover = types.ResourceRecordSetFailover(value)
		case optionMultiValue:
			set.MultiValueAnswer = aws.Bool(true)
		case optionContinent:
			location(set).ContinentCode = aws.String(value)
		case optionCountry:
			location(set).CountryCode = aws.String(value)
		case optionSubdivision:
			location(set).SubdivisionCode = aws.String(value)
		case optionNearRegion:
			proximity(set).AWSRegion = aws.String(value)
		case optionNearGroup:
			proximity(set).LocalZoneGroup = aws.String(value)
		case optionCoordinates:
			latitude, longitude, _ := strings.Cut(value, ",")
			proximity(set).Coordinates = &types.Coordinates{Latitude: aws.String(latitude), Longitude: aws.String(longitude)}
		case optionBias:
			bias, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return fmt.Errorf("%s=%s is no number", option.Key, value)
			}
			proximity(set).Bias = aws.Int32(int32(bias))
		}
	}
	return nil
}

func location(set *types.ResourceRecordSet) *types.GeoLocation {
	if set.GeoLocation == nil {
		set.GeoLocation = &types.GeoLocation{}
	}
	return set.GeoLocation
}

func proximity(set *types.ResourceRecordSet) *types.GeoProximityLocation {
	if set.GeoProximityLocation == nil {
		set.GeoProximityLocation = &types.GeoProximityLocation{}
	}
	return set.GeoProximityLocation
}

// policyOf is the routing policy of a record in its normal form; "" for none.
func policyOf(r *mirror.Record) string {
	of := policies()
	for _, option := range r.Options {
		if policy := of[option.Key]; policy != "" {
			return policy
		}
	}
	return ""
}

// routing returns the options of a wish's routing policy in the normal form, or why
// Route 53 wouldn't take them.
func routing(want *mirror.Record) ([]zones.Option, error) {
	of := policies()
	var list []zones.Option
	found := map[string]string{} // an option by its policy
	for _, option := range want.Options {
		policy := of[option.Key]
		if policy == "" && option.Key != optionHealthCheck {
			continue
		}
		value, err := routingValue(option)
		if err != nil {
			return nil, err
		}
		if want.SetIdentifier == "" {
			return nil, fmt.Errorf("%s needs a set-identifier, by which Route 53 tells the record sets of one name apart", annotation(option.Key))
		}
		if policy != "" {
			found[policy] = option.Key
		}
		list = append(list, zones.Option{Key: option.Key, Value: value})
	}
	switch {
	case len(found) > 1:
		var keys []string
		for _, key := range found {
			keys = append(keys, annotation(key))
		}
		slices.Sort(keys)
		return nil, fmt.Errorf("%s exclude each other: a record set has one routing policy", strings.Join(keys, " and "))
	case len(found) == 0 && want.SetIdentifier != "":
		return nil, fmt.Errorf("the set-identifier %q needs a routing policy: add %s, or leave it out", want.SetIdentifier, annotation(optionWeight))
	case len(want.SetIdentifier) > 128:
		return nil, fmt.Errorf("the set-identifier has %d characters, and Route 53 takes 128", len(want.SetIdentifier))
	}
	return completed(list, found)
}

// completed checks what options of one policy need of each other, and adds those
// that Route 53 adds.
func completed(list []zones.Option, found map[string]string) ([]zones.Option, error) {
	has := func(key string) bool {
		return slices.ContainsFunc(list, func(o zones.Option) bool { return o.Key == key })
	}
	count := func(keys ...string) (n int) {
		for _, key := range keys {
			if has(key) {
				n++
			}
		}
		return n
	}
	switch {
	case found["geolocation"] != "" && count(optionContinent, optionCountry) != 1:
		return nil, fmt.Errorf("a geolocation is one continent or one country: give %s or %s", annotation(optionContinent), annotation(optionCountry))
	case has(optionSubdivision) && !has(optionCountry):
		return nil, fmt.Errorf("%s needs %s", annotation(optionSubdivision), annotation(optionCountry))
	case found["geoproximity"] != "" && count(optionNearRegion, optionNearGroup, optionCoordinates) != 1:
		return nil, fmt.Errorf("a geoproximity is one region, one local zone group or one pair of coordinates: give one of %s, %s and %s", annotation(optionNearRegion), annotation(optionNearGroup), annotation(optionCoordinates))
	case found["geoproximity"] != "" && !has(optionBias):
		list = append(list, zones.Option{Key: optionBias, Value: "0"})
	}
	sortOptions(list)
	return list, nil
}

// routingValue brings the value of an option into the form in which Route 53 gives
// it back.
func routingValue(option zones.Option) (string, error) {
	value := strings.TrimSpace(option.Value)
	number := func(low, high int64) (string, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < low || n > high {
			return "", fmt.Errorf("%s=%s is no number from %d to %d", annotation(option.Key), value, low, high)
		}
		return strconv.FormatInt(n, 10), nil
	}
	switch option.Key {
	case optionWeight:
		return number(0, maxWeight)
	case optionBias:
		return number(-maxBias, maxBias)
	case optionFailover:
		if upper := strings.ToUpper(value); upper == "PRIMARY" || upper == "SECONDARY" {
			return upper, nil
		}
		return "", fmt.Errorf("%s=%s is none: write PRIMARY or SECONDARY", annotation(option.Key), value)
	case optionMultiValue:
		// Its presence counts, as in external-dns.
		if strings.EqualFold(value, "false") {
			return "", fmt.Errorf("%s=false asks for multivalue answers all the same: leave it out", annotation(option.Key))
		}
		return "true", nil
	case optionCoordinates:
		return coordinates(option.Key, value)
	case optionContinent, optionCountry, optionSubdivision:
		value = strings.ToUpper(value)
	}
	if value == "" {
		return "", fmt.Errorf("%s is empty: give it a value, or leave it out", annotation(option.Key))
	}
	return value, nil
}

func coordinates(key, value string) (string, error) {
	latitude, longitude, found := strings.Cut(value, ",")
	for _, part := range []struct {
		text  string
		bound float64
	}{{latitude, 90}, {longitude, 180}} {
		text := strings.TrimSpace(part.text)
		n, err := strconv.ParseFloat(text, 64)
		_, decimals, _ := strings.Cut(text, ".")
		if !found || err != nil || n < -part.bound || n > part.bound || n != n || len(decimals) > 2 {
			return "", fmt.Errorf("%s=%s is no latitude and longitude: write them as 49.22,-74.01, with two decimals at most", annotation(key), value)
		}
	}
	return degrees(latitude) + "," + degrees(longitude), nil
}

// annotation is an option as the authors of objects write it.
func annotation(key string) string {
	if rest, ok := strings.CutPrefix(key, familyPrefix); ok {
		return annotationPrefix + rest
	}
	return key
}

func sortOptions(list []zones.Option) {
	slices.SortFunc(list, func(a, b zones.Option) int { return cmp.Compare(a.Key, b.Key) })
}
