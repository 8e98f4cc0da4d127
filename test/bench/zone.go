//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// origin is the zone's name, which is reserved for tests (RFC 6761).
const origin = "corp.test"

// caseText says what each case asks; caseNames are its keys in order.
var (
	caseNames = []string{"a", "mix", "wildcard", "chain", "set"}
	caseText  = map[string]string{
		"a":        "A",
		"mix":      "half A, AAAA that exist and that do not, absent names",
		"wildcard": "A from a wildcard",
		"chain":    "A behind two CNAMEs",
		"set":      "sets of 20 A",
	}
)

const (
	// queryCount is how many queries each case has; dnsperf repeats them.
	queryCount = 200_000
	chainCount = 1000
	setCount   = 100
)

// writeZone writes zone.db and a file of so many queries for each case. h0, h1 and so
// on are size names with an A record; every second one has an AAAA record too.
func writeZone(dir string, size, queries int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := writeLines(filepath.Join(dir, "zone.db"), func(line func(string, ...any)) {
		line("$ORIGIN %s.", origin)
		line("$TTL 300")
		line("@ SOA ns1 hostmaster 1 3600 600 86400 5")
		line("@ NS ns1")
		line("ns1 A 192.0.2.1")
		line("*.wild A 192.0.2.2")
		for i := range chainCount {
			line("c%d CNAME b%d", i, i)
			line("b%d CNAME h%d", i, i)
		}
		for i := range setCount {
			for j := range 20 {
				line("s%d A 198.51.100.%d", i, j)
			}
		}
		for i := range size {
			line("h%d A 10.%d.%d.%d", i, i>>16&255, i>>8&255, i&255)
			if i%2 == 0 {
				line("h%d AAAA 2001:db8::%x:%x", i, i>>16, i&0xffff)
			}
		}
	})
	for _, what := range caseNames {
		random := rand.New(rand.NewPCG(1, 2))
		err = errors.Join(err, writeLines(filepath.Join(dir, what+".queries"), func(line func(string, ...any)) {
			for range queries {
				line("%s", question(what, size, random))
			}
		}))
	}
	return err
}

// question is a line of dnsperf's input.
func question(what string, size int, random *rand.Rand) string {
	host, kind := fmt.Sprintf("h%d", random.IntN(size)), "A"
	switch what {
	case "mix":
		switch dice := random.IntN(10); {
		case dice < 3:
			kind = "AAAA"
		case dice < 5:
			host = fmt.Sprintf("absent%d", random.IntN(size))
		}
	case "wildcard":
		host = fmt.Sprintf("x%d.wild", random.IntN(size))
	case "chain":
		host = fmt.Sprintf("c%d", random.IntN(chainCount))
	case "set":
		host = fmt.Sprintf("s%d", random.IntN(setCount))
	}
	return host + "." + origin + " " + kind
}

// writeLines writes a file line by line.
func writeLines(path string, write func(line func(format string, args ...any))) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	text := bufio.NewWriter(file)
	write(func(format string, args ...any) { fmt.Fprintf(text, format+"\n", args...) })
	return errors.Join(text.Flush(), file.Close())
}
