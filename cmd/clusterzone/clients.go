package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/clusterzone/clusterzone/server"
	"github.com/clusterzone/clusterzone/sources"
)

// clientSettings say who may ask and how often, and what clients are told about
// this server.
type clientSettings struct {
	allowQuery   []string
	cookies      string
	cookieSecret string
	rrl          int
	rrlExempt    []string
	nsid         string
	version      string
}

func (s *clientSettings) add(cmd *cobra.Command) {
	f := flagsOf(cmd, groupClients)
	f.list(&s.allowQuery, "allow-query", "`network` whose clients may ask; others get REFUSED; repeatable (default: all)")
	f.text(&s.cookies, "cookies", "on", "DNS cookies (RFC 7873), by which a client that asks again shows that it doesn't forge its address: `mode` on or off")
	f.text(&s.cookieSecret, "cookie-secret-file", "", "`file` of the cookies' secrets, the same for all replicas: 32 hexadecimal digits a line, the current one first; read anew when it changes (default: a random secret)")
	f.number(&s.rrl, "rrl", 0, "`number` of equal answers a second over UDP to one network (/24, /56); of those above, every second one is sent short and the others not at all; 0 for no limit")
	f.list(&s.rrlExempt, "rrl-exempt", "`network` that --rrl doesn't limit; repeatable")
	f.text(&s.nsid, "nsid", "", "`text` that tells this replica from others, for clients that ask with NSID or for id.server (default: they are not told)")
	f.text(&s.version, "version-bind", "", "`text` for clients that ask for version.bind (default: refused)")
}

// apply checks the settings and puts them into the server's options. It returns
// the file of secrets to follow, nil without one.
func (s *clientSettings) apply(dns *server.Server) (*cookieFile, error) {
	var err error
	if dns.Options.AllowQuery, err = networks("allow-query", s.allowQuery); err != nil {
		return nil, err
	}
	if s.rrl < 0 || s.rrl > 1_000_000 {
		return nil, fmt.Errorf("--rrl=%d is out of range; write a number from 1 to 1000000, or 0 for no limit", s.rrl)
	}
	if len(s.rrlExempt) > 0 && s.rrl == 0 {
		return nil, fmt.Errorf("--rrl-exempt=%s exempts from nothing; give the limit with --rrl too", s.rrlExempt[0])
	}
	dns.RateLimit.PerSecond = s.rrl
	if dns.RateLimit.Exempt, err = networks("rrl-exempt", s.rrlExempt); err != nil {
		return nil, err
	}
	if dns.Options.NSID, err = shortText("nsid", s.nsid, server.MaxNSID); err != nil {
		return nil, err
	}
	if dns.Options.Version, err = shortText("version-bind", s.version, server.MaxVersion); err != nil {
		return nil, err
	}
	switch s.cookies {
	case "off":
		if s.cookieSecret != "" {
			return nil, fmt.Errorf("--cookie-secret-file=%s has no use with --cookies=off; leave out one of them", s.cookieSecret)
		}
		return nil, nil
	case "on":
	default:
		return nil, fmt.Errorf("--cookies=%s is no mode; %s", s.cookies, sources.Suggest(s.cookies, []string{"on", "off"}))
	}
	if s.cookieSecret == "" {
		dns.Options.Cookies = server.NewCookies(server.NewCookieSecret())
		return nil, nil
	}
	dns.Options.Cookies = server.NewCookies()
	file := &cookieFile{path: s.cookieSecret, cookies: dns.Options.Cookies}
	if _, err := file.read(); err != nil {
		return nil, err
	}
	return file, nil
}

// networks reads the values of a flag: networks, several of them with commas
// between. Nil without any.
func networks(flag string, texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		for item := range strings.SplitSeq(text, ",") {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(item))
			if err != nil {
				return nil, fmt.Errorf("--%s=%s: %q is no network; write it like 10.0.0.0/8", flag, text, item)
			}
			all = append(all, prefix.Masked())
		}
	}
	return all, nil
}

// shortText checks what is sent to clients as it is.
func shortText(flag, text string, limit int) (string, error) {
	if len(text) > limit {
		return "", fmt.Errorf("--%s has %d octets; write %d at most", flag, len(text), limit)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", fmt.Errorf("--%s=%q has characters that can't be printed; leave them out", flag, text)
	}
	return text, nil
}

// cookiePoll is how often the file of secrets is looked at. It is small, and
// the kubelet takes a minute to change a mounted Secret.
const cookiePoll = 2 * time.Second

// A cookieFile keeps the secrets of Cookies equal to a file.
type cookieFile struct {
	path    string
	cookies *server.Cookies
	text    []byte // read last, and well-formed
	said    string // the error logged last
}

// read takes over the file's secrets where they are others than before. On an
// error the former ones stay.
func (f *cookieFile) read() (changed bool, err error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return false, fmt.Errorf("--cookie-secret-file=%s can't be read (%w); name a file of secrets", f.path, pathError(err))
	}
	if f.text != nil && bytes.Equal(text, f.text) {
		return false, nil
	}
	secrets, err := server.ParseCookieSecrets(text)
	if err != nil {
		return false, fmt.Errorf("--cookie-secret-file: %s:%w", f.path, err)
	}
	f.cookies.Set(secrets)
	f.text = text
	return true, nil
}

// refresh is read with a log: of a change, and of each error once.
func (f *cookieFile) refresh(log *slog.Logger) {
	changed, err := f.read()
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said != "" && said != f.said {
		log.Error("the cookies' secrets stay as they were", "err", err)
	}
	f.said = said
	if changed {
		log.Info("the cookies' secrets have changed", "file", f.path)
	}
}

// follow refreshes until ctx ends.
func (f *cookieFile) follow(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(cookiePoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.refresh(log)
		}
	}
}
