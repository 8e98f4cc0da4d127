package plugin

import (
	"context"
	"sync"
	"time"

	"github.com/coredns/coredns/plugin/transfer"
	"github.com/miekg/dns"

	"github.com/clusterzone/clusterzone/assembly"
	"github.com/clusterzone/clusterzone/zones"
)

// journalSize is how many records of differences are kept for each zone.
const journalSize = 100_000

// A notifier tells secondaries that a zone has changed; *transfer.Transfer is
// one.
type notifier interface{ Notify(zone string) error }

// openEditions keeps what secondaries get from now on.
func (h *Handler) openEditions(told notifier) {
	h.editions = assembly.NewEditions(zones.NewJournal(journalSize, time.Now()), h.pipeline.Store, h.pipeline.Feed, h.log)
	h.told = &telling{notifier: told, changes: map[zones.Name]bool{}, wake: make(chan struct{}, 1)}
}

// edition is what secondaries get of a zone now; nil where that is nothing yet.
func (h *Handler) edition(origin zones.Name) *zones.Edition {
	if lent := h.inherited.Load(); lent != nil && lent.editions[origin] != nil {
		return lent.editions[origin]
	}
	if h.editions == nil || !h.pipeline.Store.Load().Ready {
		return nil
	}
	return h.editions.Journal.Edition(origin)
}

// Transfer is what the plugin transfer asks for: the whole zone for serial 0, else the
// differences since that serial (RFC 1995), or the whole where they aren't known.
// The channel is closed at the end; whoever gets it reads it to the end.
func (h *Handler) Transfer(zone string, serial uint32) (<-chan []dns.RR, error) {
	origin, err := zones.ParseName(zone)
	if err != nil || !h.serves(origin) {
		return nil, transfer.ErrNotAuthoritative
	}
	edition := h.edition(origin)
	if edition == nil {
		return nil, errNoEdition
	}
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		send(ch, edition, serial)
	}()
	return ch, nil
}

type textError string

func (e textError) Error() string { return string(e) }

const errNoEdition = textError("the zone has no serial to transfer yet; ask again in a second")

// send writes a transfer to ch.
func send(ch chan<- []dns.RR, edition *zones.Edition, serial uint32) {
	soa := records(edition.SOA())
	if serial != 0 && int32(edition.Serial()-serial) <= 0 { // RFC 1982
		ch <- soa
		return
	}
	if steps, known := edition.Since(serial); serial != 0 && known {
		ch <- soa
		for _, step := range steps {
			ch <- records(step.From)
			ch <- records(step.Removed...)
			ch <- records(step.To)
			ch <- records(step.Added...)
		}
		ch <- soa
		return
	}
	ch <- soa
	for set := range edition.RRSets() {
		if set.Type != zones.TypeSOA {
			ch <- records(set)
		}
	}
	ch <- soa
}

// records turns record sets into the library's records.
func records(sets ...*zones.RRSet) []dns.RR {
	var all []dns.RR
	for _, set := range sets {
		for _, data := range set.Data {
			all = append(all, record(set, string(data)))
		}
	}
	return all
}

// record makes one record from its octets. What the library can't read in its own
// form goes as RFC 3597 has it: zones hold nothing that can't be written.
func record(set *zones.RRSet, data string) dns.RR {
	wire := append([]byte(set.Name),
		byte(set.Type>>8), byte(set.Type), 0, dns.ClassINET,
		byte(set.TTL>>24), byte(set.TTL>>16), byte(set.TTL>>8), byte(set.TTL),
		byte(len(data)>>8), byte(len(data)))
	wire = append(wire, data...)
	rr, _, err := dns.UnpackRR(wire, 0)
	if err == nil {
		return rr
	}
	return &dns.RFC3597{
		Hdr:   dns.RR_Header{Name: set.Name.FQDN(), Rrtype: uint16(set.Type), Class: dns.ClassINET, Ttl: set.TTL, Rdlength: uint16(len(data))},
		Rdata: hexText(data),
	}
}

func hexText(data string) string {
	const digits = "0123456789abcdef"
	text := make([]byte, 0, 2*len(data))
	for i := range len(data) {
		text = append(text, digits[data[i]>>4], digits[data[i]&15])
	}
	return string(text)
}

// A telling gathers the zones that secondaries are to hear of.
type telling struct {
	notifier notifier
	wake     chan struct{}

	mu      sync.Mutex
	changes map[zones.Name]bool
}

// changed notes zones with a new serial, and returns at once.
func (t *telling) changed(origins []zones.Name) {
	if len(origins) == 0 {
		return
	}
	t.mu.Lock()
	for _, origin := range origins {
		t.changes[origin] = true
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *telling) take() map[zones.Name]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.changes
	t.changes = map[zones.Name]bool{}
	return taken
}

// notify has CoreDNS tell the secondaries of new serials until ctx is done.
// Serials that come while it tells are told of together.
func (h *Handler) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.told.wake:
		}
		for origin := range h.told.take() {
			if err := h.told.notifier.Notify(origin.FQDN()); err != nil {
				h.log.Warn("secondaries could not be notified", "zone", origin.String(), "error", err)
			}
		}
	}
}
