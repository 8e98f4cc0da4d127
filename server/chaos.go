package server

import "github.com/clusterzone/clusterzone/zones"

// Questions of class CH tell which server answers (RFC 4892), nothing else.

const (
	nameIDServer      = "\x02id\x06server\x00"
	nameHostnameBind  = "\x08hostname\x04bind\x00"
	nameVersionServer = "\x07version\x06server\x00"
	nameVersionBind   = "\x07version\x04bind\x00"
)

// answerChaos answers a question of class CH. What is not set is refused.
func (r *Responder) answerChaos(v *verdict) {
	text := ""
	switch string(r.msg.name[:r.msg.nameLen]) {
	case nameIDServer, nameHostnameBind:
		text = r.NSID
	case nameVersionServer, nameVersionBind:
		text = r.Version
	}
	if r.msg.qtype != zones.TypeTXT && r.msg.qtype != zones.TypeANY {
		text = ""
	}
	if text == "" {
		v.rcode = Refused
		v.ede = extendedError{edeNotAuthoritative, "this is not told, or not known, in class CH"}
		return
	}
	v.authoritative, v.chaos = true, text
}

// chaos writes the TXT record of a question of class CH. There is room for it:
// name and text are short. Its TTL is 0, so that the next answer is another
// replica's own (RFC 4892 section 3.2).
func (w *writer) chaos(text string) {
	w.buf = append(w.buf, 0xc0, headerSize, 0, byte(zones.TypeTXT), 0, classCH, 0, 0, 0, 0, byte((1+len(text))>>8), byte(1+len(text)), byte(len(text)))
	w.buf = append(w.buf, text...)
}
