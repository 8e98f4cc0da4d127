package adminpage

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

//go:embed assets
var assets embed.FS

//go:embed page.html
var pageText string

// Lists on one page are no longer than this; the JSON of the API has all.
const (
	shownZones   = 200
	shownSkipped = 200
	shownRecords = 200
)

// policy lets a browser load the page's own style, script and icon, and send its
// form back here: nothing inline, and nothing from anywhere else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handler serves the page: an overview at /, the explanation of a name at
// /name?name=NAME&type=TYPE, the records of a zone at /zone?name=NAME, and what
// these load below /assets/. Other paths are not its own.
func Handler(data Data) http.Handler {
	p := &page{data: data, template: template.Must(template.New("page").Funcs(functions).Parse(pageText))}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", p.overview)
	mux.HandleFunc("/name", p.name)
	mux.HandleFunc("/zone", p.zone)
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux.Handle("/assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy":      policy,
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			w.Header().Set(name, value)
		}
		mux.ServeHTTP(w, r)
	})
}

// Paths are the patterns that Handler serves, for the mux in front of it.
func Paths() []string { return []string{"/{$}", "/name", "/zone", "/assets/"} }

type page struct {
	data     Data
	template *template.Template
}

// A view is what the template sees.
type view struct {
	Title string
	// Asked and Type stand in the form.
	Asked, Type string
	Types       []string
	Problem     string
	Overview    *overview
	Name        *zones.Explanation
	Zone        *zoneView
}

type overview struct {
	Overview
	MoreZones, MoreSkipped int
	Troubled               bool // some source or zone file can't be read
	MirrorViews            []mirrorView
	Stopped                []stopped // what the mirrors don't write
	MoreStopped            int
	MirrorsTroubled        bool
}

type zoneView struct {
	Name zones.Name
	Sets []zones.ListedSet
	From zones.Name // the zero Name at the start
	Next string     // the address of the next page; empty at the end
}

// askedTypes are those of the form; others can be written in the address.
func askedTypes() []string {
	return []string{"A", "AAAA", "CNAME", "TXT", "SRV", "MX", "PTR", "NS", "SOA"}
}

func (p *page) overview(w http.ResponseWriter, _ *http.Request) {
	o := &overview{Overview: p.data.Overview()}
	for _, zone := range o.Zones {
		o.Troubled = o.Troubled || zone.Problem != ""
	}
	for _, source := range o.Sources {
		for _, kind := range source.Kinds {
			o.Troubled = o.Troubled || kind.Problem != ""
		}
	}
	o.MirrorViews, o.Stopped, o.MoreStopped, o.MirrorsTroubled = mirrorViews(o.Mirrors)
	// What an author can mend comes first.
	slices.SortStableFunc(o.Skipped, func(a, b zones.Skipped) int { return order(a.Reason.Mendable(), b.Reason.Mendable()) })
	o.Zones, o.MoreZones = cut(o.Zones, shownZones)
	o.Skipped, o.MoreSkipped = cut(o.Skipped, shownSkipped)
	p.write(w, http.StatusOK, view{Title: "Overview", Overview: o})
}

// order puts true before false.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func cut[T any](list []T, limit int) (shown []T, more int) {
	if len(list) <= limit {
		return list, 0
	}
	return list[:limit], len(list) - limit
}

func (p *page) name(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	v := view{Title: "A name", Asked: strings.TrimSpace(query.Get("name")), Type: strings.ToUpper(strings.TrimSpace(query.Get("type")))}
	fail := func(format string, args ...any) {
		v.Problem = fmt.Sprintf(format, args...)
		p.write(w, http.StatusBadRequest, v)
	}
	if v.Asked == "" {
		fail("Write the name that you look for, like shop.corp.example.")
		return
	}
	name, err := zones.ParseName(v.Asked)
	if err != nil {
		fail("%q is no domain name: %v.", v.Asked, err)
		return
	}
	kind := zones.TypeNone
	if v.Type != "" {
		if kind, err = zones.ParseType(v.Type); err != nil {
			fail("%v; choose one from the list.", err)
			return
		}
	}
	x := p.data.Explain(name, kind)
	v.Title, v.Name = name.String(), &x
	p.write(w, http.StatusOK, v)
}

func (p *page) zone(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	v := view{Title: "A zone"}
	origin, err := zones.ParseName(query.Get("name"))
	if err != nil {
		v.Problem = fmt.Sprintf("%q is no domain name: %v.", query.Get("name"), err)
		p.write(w, http.StatusBadRequest, v)
		return
	}
	var from zones.Name
	if text := query.Get("from"); text != "" {
		if from, err = zones.ParseName(text); err != nil {
			v.Problem = fmt.Sprintf("%q is no domain name: %v.", text, err)
			p.write(w, http.StatusBadRequest, v)
			return
		}
	}
	sets, next, known := p.data.Records(origin, from, shownRecords)
	if !known {
		v.Problem = fmt.Sprintf("%s is no zone that is served here.", origin)
		p.write(w, http.StatusNotFound, v)
		return
	}
	v.Title, v.Zone = "Zone "+origin.String(), &zoneView{Name: origin, Sets: sets, From: from}
	if next != "" {
		v.Zone.Next = "/zone?" + url.Values{"name": {origin.String()}, "from": {next.String()}}.Encode()
	}
	p.write(w, http.StatusOK, v)
}

// write renders into memory first: a template that fails half-way must not
// leave half a page with status 200.
func (p *page) write(w http.ResponseWriter, code int, v view) {
	v.Types = askedTypes()
	if v.Type != "" && !slices.Contains(v.Types, v.Type) && v.Problem == "" {
		v.Types = append(v.Types, v.Type)
	}
	var body bytes.Buffer
	if err := p.template.Execute(&body, v); err != nil {
		http.Error(w, "the page can't be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	// A client that has gone misses the page, nothing else.
	_, _ = w.Write(body.Bytes())
}
