package adminpage_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterzone/clusterzone/adminpage"
)

// browserLimit bounds one page in the browser: a machine may be busy.
const browserLimit = 2 * time.Minute

func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("neither chromium nor google-chrome is installed, so the page is not looked at in a browser; the Debian package is chromium")
	return ""
}

// TestBrowser: Chromium loads the pages with all that belongs to them, breaks no
// rule of the policy, says nothing on its console, asks nobody else, and runs
// the page's script but not what objects hold.
func TestBrowser(t *testing.T) {
	t.Parallel()
	program := browser(t)
	for _, c := range []struct {
		target, want string
		data         *fake
	}{
		{"/", " ago</time>", full()},
		{"/", "20 of 40 records would be deleted or replaced", mirrored()},
		{"/name?name=shop.corp.test", "&lt;script&gt;alert", full()},
		{"/zone?name=corp.test", "Zone corp.test", full()},
		{"/", "Not ready.", waiting()},
	} {
		var mu sync.Mutex
		asked := map[string]int{}
		handler := adminpage.Handler(c.data)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, r)
			mu.Lock()
			asked[r.URL.Path] = recorder.Code
			mu.Unlock()
			for name, values := range recorder.Header() {
				w.Header()[name] = values
			}
			w.WriteHeader(recorder.Code)
			if _, err := w.Write(recorder.Body.Bytes()); err != nil {
				t.Logf("the browser hung up: %v", err)
			}
		}))
		defer server.Close()
		page, console := render(t, program, server.URL+c.target)
		if !strings.Contains(page, c.want) {
			t.Errorf("%s: %q is missing in what the browser made:\n%s", c.target, c.want, page)
		}
		for line := range strings.Lines(console) {
			if strings.Contains(line, "CONSOLE") || strings.Contains(line, "Content Security Policy") {
				t.Errorf("%s: the browser says: %s", c.target, line)
			}
		}
		mu.Lock()
		for _, path := range []string{"/assets/page.css", "/assets/page.js"} {
			if asked[path] != http.StatusOK {
				t.Errorf("%s: the browser got %s with status %d", c.target, path, asked[path])
			}
		}
		for path, code := range asked {
			if code != http.StatusOK {
				t.Errorf("%s: the browser asked for %s, and got status %d", c.target, path, code)
			}
		}
		mu.Unlock()
	}
}

// TestBrowserTellsViolations: without it, a browser that keeps its console to
// itself would pass the test above.
func TestBrowserTellsViolations(t *testing.T) {
	t.Parallel()
	program := browser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Content-Type", "text/html")
		if _, err := w.Write([]byte(`<script>document.title = "ran"</script><p>there`)); err != nil {
			t.Logf("the browser hung up: %v", err)
		}
	}))
	defer server.Close()
	if _, console := render(t, program, server.URL); !strings.Contains(console, "CONSOLE") {
		t.Errorf("the browser doesn't tell of a script that the policy forbids; it says\n%s", console)
	}
}

// render returns the document as it is once the page has loaded and its scripts
// ran, and what the browser logs. The browser has a folder of its own, asks its
// maker for nothing, and ends by itself.
func render(t *testing.T, program, address string) (page, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", address)
	cmd.WaitDelay = browserLimit
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", address, err, errs.String())
	}
	return out.String(), errs.String()
}
