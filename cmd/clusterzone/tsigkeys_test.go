package main

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTSIGKeysAreFollowed: a key that changes in its file is taken over, and what
// can't be used, or lacks a key that is needed, changes nothing.
func TestTSIGKeysAreFollowed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, secret := filepath.Join(folder, "keys"), filepath.Join(folder, "secret")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	statement := func(name, secret string) string {
		return fmt.Sprintf("key %q { algorithm hmac-sha256; secret %q; };\n", name, encode(secret))
	}
	write(file, statement("transfer", "a secret of 16 octets"))
	write(secret, encode("one more secret of 16"))
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--resolver=none", "--tsig-key-file="+file,
		"--tsig-key=hmac-sha256:second:@"+secret, "--allow-transfer=key:transfer,key:second")
	f := d.tsigFiles
	if f == nil || f.keys != d.dns.Options.Keys {
		t.Fatal("the server's keys aren't followed")
	}
	log := make(lines, 100)
	f.log = slog.New(slog.NewTextHandler(log, nil))
	for _, step := range []struct {
		what, path, text, want string
		broken                 int
	}{
		{"as it was", file, statement("transfer", "a secret of 16 octets"), "", 0},
		{"another secret", file, statement("transfer", "other secret of 16 octets"), "keys have changed", 0},
		{"a second key", file, statement("third", "a secret of 16 octets") + statement("transfer", "other secret of 16 octets"), "third (hmac-sha256), transfer", 0},
		{"a file of a secret", secret, encode("and again another secret"), "keys have changed", 0},
		{"a key that is needed is gone", file, statement("third", "a secret of 16 octets"), "the key transfer has gone", 1},
		{"no key", file, "none", "this is no key statement", 1},
		{"a secret too short", secret, encode("short"), "this is no key statement", 1},
		{"both good again", file, statement("transfer", "other secret of 16 octets"), "has 5 octets", 1},
		{"as before", secret, encode("and again another secret"), "keys have changed", 0},
	} {
		said := f.said
		write(step.path, step.text)
		f.Refresh()
		got := ""
		select {
		case got = <-log:
		default:
			got = strings.TrimPrefix(f.said, said)
			if f.said == said && said != "" {
				got = said // the same fault is said once
			}
		}
		if step.want == "" && got != "" || !strings.Contains(got, step.want) {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
		recorder := httptest.NewRecorder()
		d.metricsHandler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if want := fmt.Sprintf("clusterzone_tsig_keys_unreadable %d", step.broken); !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("%s: the metrics lack %s", step.what, want)
		}
		for _, secret := range []string{"c2Vjc", "octets"} {
			if strings.Contains(got, secret) && !strings.Contains(got, "has 5 octets") {
				t.Errorf("%s: %q tells a secret", step.what, got)
			}
		}
	}
}

// TestNoTSIGFiles: keys that stand in flags alone never change.
func TestNoTSIGFiles(t *testing.T) {
	t.Parallel()
	d, _ := startable(t, "--zone=corp.test", "--source=ingress", "--resolver=none",
		"--tsig-key=hmac-sha256:transfer:MDEyMzQ1Njc4OWFiY2RlZg==", "--allow-transfer=key:transfer")
	if d.tsigFiles != nil {
		t.Error("no file is named, and files are followed")
	}
}
