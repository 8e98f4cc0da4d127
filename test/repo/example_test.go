package repo_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// A try is a line to try in deploy/example, with the answer that stands below.
type try struct {
	file    string
	line    int
	command string
	name    string
	kind    uint16
	short   bool
	want    []string
}

// Each "try" line of the example objects gives the answer that stands below it.
// Where that is none ("status NOERROR, no answer"), the reply must say why.
func TestExampleAnswersAreTrue(t *testing.T) {
	t.Parallel()
	tries := readTries(t)
	if len(tries) < 10 {
		t.Fatalf("deploy/example holds %d lines to try; something is wrong with this test", len(tries))
	}
	server := "127.0.0.1:" + serveExample(t)
	for _, try := range tries {
		query := new(dns.Msg).SetQuestion(try.name, try.kind)
		query.SetEdns0(1232, false)
		reply, _, err := new(dns.Client).ExchangeContext(t.Context(), query, server)
		if err != nil {
			t.Fatalf("%s:%d: %v", try.file, try.line, err)
		}
		var got []string
		for _, rr := range reply.Answer {
			got = append(got, strings.TrimSpace(strings.TrimPrefix(rr.String(), rr.Header().String())))
		}
		if len(got) == 0 {
			got = []string{"status " + dns.RcodeToString[reply.Rcode] + ", no answer"}
			if !hasReason(reply) {
				t.Errorf("%s:%d: %s doesn't say why there is nothing:\n%s", try.file, try.line, try.command, reply)
			}
			if try.short {
				t.Errorf("%s:%d: +short doesn't show the reason", try.file, try.line)
			}
		}
		slices.Sort(got) // addresses are rotated
		slices.Sort(try.want)
		if !slices.Equal(got, try.want) {
			t.Errorf("%s:%d: %s gives %q; the file says %q", try.file, try.line, try.command, got, try.want)
		}
	}
}

func hasReason(reply *dns.Msg) bool {
	opt := reply.IsEdns0()
	if opt == nil {
		return false
	}
	return slices.ContainsFunc(opt.Option, func(option dns.EDNS0) bool {
		ede, is := option.(*dns.EDNS0_EDE)
		return is && ede.ExtraText != ""
	})
}

func readTries(t *testing.T) []try {
	t.Helper()
	var tries []try
	for _, file := range walk(t) {
		if path.Dir(file) != "deploy/example" {
			continue
		}
		for i, line := range strings.Split(read(t, file), "\n") {
			if command, is := strings.CutPrefix(line, "# try: "); is {
				one, err := parseTry(command)
				if err != nil {
					t.Errorf("%s:%d: %v", file, i+1, err)
					continue
				}
				one.file, one.line = file, i+1
				tries = append(tries, one)
			}
			if want, is := strings.CutPrefix(line, "# ->   "); is && len(tries) > 0 {
				last := &tries[len(tries)-1]
				last.want = append(last.want, want)
			}
		}
	}
	return tries
}

func parseTry(command string) (try, error) {
	words := strings.Fields(command)
	if len(words) < 4 || !slices.Equal(words[:4], []string{"dig", "@127.0.0.1", "-p", "5353"}) {
		return try{}, fmt.Errorf("%q doesn't ask the server of make run; start it with dig @127.0.0.1 -p 5353", command)
	}
	one := try{command: command, kind: dns.TypeA}
	for _, word := range words[4:] {
		switch kind, isType := dns.StringToType[word]; {
		case word == "+short":
			one.short = true
		case isType:
			one.kind = kind
		case one.name == "":
			one.name = dns.Fqdn(word)
		default:
			return try{}, fmt.Errorf("this test doesn't know %s in %q", word, command)
		}
	}
	return one, nil
}
