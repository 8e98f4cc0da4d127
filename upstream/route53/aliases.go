package route53

import (
	"bufio"
	_ "embed"
	"fmt"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// cloudFront is the hosted zone of all CloudFront distributions, which have no
// health that could be evaluated (API reference, AliasTarget).
const cloudFront = "Z2FDTNDATAQYW2"

//go:embed aliases.txt
var knownAliases string

// aliasZones are IDs of hosted zones by the suffix of the names that lie in them.
// It is immutable once it is made.
type aliasZones map[string]string

// newAliasZones reads the table of this program and, over it, the lines of another
// one, which errors name as from.
func newAliasZones(from, more string) (aliasZones, error) {
	table := aliasZones{}
	if err := table.read("aliases.txt", knownAliases); err != nil {
		return nil, err
	}
	return table, table.read(from, more)
}

// read adds lines of a suffix and an ID. Empty lines and those that begin with a
// number sign are left out.
func (a aliasZones) read(from, text string) error {
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return fmt.Errorf("%s:%d: %q isn't a suffix of names and the ID of a hosted zone: write both, with a blank between", from, n, line)
		}
		suffix, err := zones.ParseName(strings.TrimPrefix(fields[0], "."))
		if err != nil {
			return fmt.Errorf("%s:%d: %q is no name: %w", from, n, fields[0], err)
		}
		id := bare(fields[1])
		if !plainID(id) {
			return fmt.Errorf("%s:%d: %q is no ID of a hosted zone: it has capital letters and digits alone", from, n, fields[1])
		}
		a[suffix.String()] = id
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// plainID reports whether text looks like the ID of a hosted zone.
func plainID(text string) bool {
	return text != "" && len(text) <= 32 && !strings.ContainsFunc(text, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') })
}

// of returns the zone of the longest suffix of a name; "" where there is none.
func (a aliasZones) of(target zones.Name) string {
	for rest := target; len(rest) > 1; rest = rest.Parent() {
		if id, ok := a[rest.String()]; ok {
			return id
		}
	}
	return ""
}

// amazons are domains whose names lie in hosted zones of AWS, so that a target
// below them that the table doesn't have is never in the user's own zone.
var amazons = []string{"amazonaws.com", "amazonaws.com.cn", "cloudfront.net", "awsglobalaccelerator.com", "elasticbeanstalk.com"}

func isAmazon(target zones.Name) bool {
	for _, domain := range amazons {
		if text := target.String(); text == domain || strings.HasSuffix(text, "."+domain) {
			return true
		}
	}
	return false
}
