package repo_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterzone/clusterzone/zones"
)

var (
	metricName   = regexp.MustCompile(`\bclusterzone_[a-z0-9_]+[a-z0-9]\b`)
	metricPrefix = regexp.MustCompile(`"(clusterzone_[a-z_]*)"\s*\+\s*name`)
	metricShort  = regexp.MustCompile(`\bdesc\("([a-z_]+)"`)
	metricWhole  = regexp.MustCompile(`"(clusterzone_[a-z_]+[a-z])"`)
)

// registered returns the names of the metrics that the program has, as the source
// says it: many have no value in a registry before something happens.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range walk(t) {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") {
			continue
		}
		text := read(t, file)
		for _, match := range metricWhole.FindAllStringSubmatch(text, -1) {
			names[match[1]] = true
		}
		if prefix := metricPrefix.FindStringSubmatch(text); prefix != nil {
			for _, match := range metricShort.FindAllStringSubmatch(text, -1) {
				names[prefix[1]+match[1]] = true
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d metrics are found in the source; this test would hold nothing: %v", len(names), names)
	}
	return names
}

// A metric that an alert, the dashboard or a page names and the program lacks never
// fires, draws nothing and helps nobody.
func TestMetricsThatAreNamedExist(t *testing.T) {
	t.Parallel()
	has := registered(t)
	mirrors := has["clusterzone_mirror_writes"]
	files := append(prose(t), "deploy/monitoring/alerts.yaml", "deploy/monitoring/alerts_test.yaml", "deploy/monitoring/dashboard.json")
	for _, file := range files {
		for _, name := range metricName.FindAllString(read(t, file), -1) {
			plain := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if base, ok := strings.CutSuffix(name, suffix); ok && has[base] {
					plain = base
				}
			}
			if strings.HasPrefix(plain, "clusterzone_mirror_") && !mirrors {
				continue // this program has no mirrors, and the alerts about them rest
			}
			if !has[plain] {
				t.Errorf("%s names %s, which is no metric of the program", file, name)
			}
		}
	}
}

// The alert for wishes that can't be served is about those that authors can mend.
func TestSkippedAlertNamesMendableReasons(t *testing.T) {
	t.Parallel()
	match := regexp.MustCompile(`clusterzone_skipped\{reason=~"([^"]+)"`).FindStringSubmatch(read(t, "deploy/monitoring/alerts.yaml"))
	if match == nil {
		t.Fatal("deploy/monitoring/alerts.yaml has no alert on clusterzone_skipped")
	}
	named := strings.Split(match[1], "|")
	all := regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "([a-z-]+)"`).FindAllStringSubmatch(read(t, "zones/claim.go"), -1)
	if len(all) < 20 {
		t.Fatalf("zones/claim.go has %d reasons; this test would hold nothing", len(all))
	}
	for _, reason := range all {
		if zones.Reason(reason[1]).Mendable() != slices.Contains(named, reason[1]) {
			t.Errorf("reason %s: mendable %t, in the alert %t", reason[1], zones.Reason(reason[1]).Mendable(), slices.Contains(named, reason[1]))
		}
	}
}

// Charts hold all that they need, so that alerts and dashboard stand in two places.
func TestChartHasTheAlertsAndTheDashboard(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		if read(t, "deploy/monitoring/"+name) != read(t, "deploy/helm/clusterzone/files/"+name) {
			t.Errorf("deploy/helm/clusterzone/files/%s is not deploy/monitoring/%s: make deploy copies it", name, name)
		}
	}
}

// The dashboard is what Grafana can load: panels with an ID, a place and queries of
// their own, which don't cover one another.
func TestDashboardIsSound(t *testing.T) {
	t.Parallel()
	type place struct{ X, Y, W, H int }
	var board struct {
		Title, UID    string
		SchemaVersion int
		Templating    struct {
			List []struct{ Name, Type string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			GridPos     place
			Targets     []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy/monitoring/dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	if board.UID == "" || board.Title == "" || board.SchemaVersion < 36 || len(board.Panels) < 10 {
		t.Fatalf("the dashboard is %q (%s), schema %d, with %d panels", board.Title, board.UID, board.SchemaVersion, len(board.Panels))
	}
	variable := regexp.MustCompile(`\$([a-z]+)`)
	ids, taken, rows := map[int]bool{}, map[[2]int]string{}, []string{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.Title == "" {
			t.Errorf("panel %d %q has no ID or title of its own", panel.ID, panel.Title)
		}
		ids[panel.ID] = true
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q stands on %q, or outside", panel.Title, other)
				}
				taken[[2]int{x, y}] = panel.Title
			}
		}
		if panel.Type == "row" {
			rows = append(rows, panel.Title)
			continue
		}
		if len(panel.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			for _, match := range variable.FindAllStringSubmatch(target.Expr, -1) {
				if !slices.ContainsFunc(board.Templating.List, func(v struct{ Name, Type string }) bool { return v.Name == match[1] }) {
					t.Errorf("panel %q uses $%s, which is no variable", panel.Title, match[1])
				}
			}
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || target.RefID == "" {
				t.Errorf("panel %q: %q is no query", panel.Title, target.Expr)
			}
		}
	}
	if want := []string{"Now", "Traffic", "Zones", "Sources", "Mirrors"}; !slices.Equal(rows, want) {
		t.Errorf("the rows are %v, want %v", rows, want)
	}
}

// The blocks in deploy/coredns are those of docs/forwarding.md, which test/fronts runs
// CoreDNS with.
func TestServerBlocksAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/forwarding.md")
	for _, name := range []string{"corp.server", "nodelocaldns.server"} {
		if block := read(t, "deploy/coredns/"+name); !strings.Contains(page, "```\n"+block+"```\n") {
			t.Errorf("docs/forwarding.md doesn't have the block of deploy/coredns/%s", name)
		}
	}
	block := read(t, "deploy/coredns/corp.server")
	var addon struct{ Corefile string }
	if err := json.Unmarshal([]byte(read(t, "deploy/coredns/eks.json")), &addon); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(addon.Corefile, "}\n"+block) {
		t.Error("deploy/coredns/eks.json doesn't end with the block of corp.server")
	}
	if indented := strings.ReplaceAll("\n"+strings.TrimRight(block, "\n"), "\n", "\n    ") + "\n"; !strings.HasSuffix(read(t, "deploy/coredns/kubeadm.yaml"), indented) {
		t.Error("deploy/coredns/kubeadm.yaml doesn't end with the block of corp.server")
	}
}
