// Package adminpage is the page for people on the admin address: which zones are
// served, why a name resolves as it does or doesn't, what objects ask for and do
// not get, how the reading of the sources is, and what changed last.
//
// The page is made on the server from html/template and needs no script; the one
// that comes with it only reads the page again and narrows tables. Everything is
// embedded, and its Content-Security-Policy lets the browser load nothing from
// anywhere else. The package changes nothing and knows no Kubernetes: what it
// shows comes through Data.
//
// Who may ask is not decided here: the handler stands behind the same gate as
// the JSON of the admin API.
package adminpage
