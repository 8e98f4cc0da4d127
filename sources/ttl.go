package sources

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

var (
	errNoDuration  = errors.New("is no duration; write seconds like 60, or a duration like 1h30m")
	errTTLRange    = errors.New("is out of range; write 0 to 2147483647 seconds")
	maxTTL         = time.Duration(math.MaxInt32) * time.Second // RFC 2181 section 8
	errTTLNegative = errors.New("is negative; write 0 to 2147483647 seconds")
)

// ParseDuration reads a duration as flags and annotations write it: a Go
// duration ("1h30m") or a whole number of seconds ("90"). The error follows the
// quoted text: "is no duration; ...".
func ParseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errTTLRange
	case err != nil:
		return 0, errNoDuration
	case seconds > math.MaxInt64/int64(time.Second) || seconds < math.MinInt64/int64(time.Second):
		return 0, errTTLRange
	}
	return time.Duration(seconds) * time.Second, nil
}

// toTTL cuts fractions of a second off. Zero is a TTL like any other (RFC 2181
// section 8 bounds it from above only).
func toTTL(d time.Duration) (zones.TTL, error) {
	switch {
	case d < 0:
		return zones.TTL{}, errTTLNegative
	case d >= maxTTL+time.Second:
		return zones.TTL{}, errTTLRange
	}
	return zones.TTL{Seconds: uint32(d / time.Second), Set: true}, nil
}

// parseTTL reads the ttl annotation.
func parseTTL(text string) (zones.TTL, error) {
	d, err := ParseDuration(text)
	if err != nil {
		return zones.TTL{}, err
	}
	return toTTL(d)
}
