package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/clusterzone/clusterzone/zones"
)

const (
	// transferMessage is how long the messages of a transfer become: names can be
	// compressed up to there. One of a single long record may be longer.
	transferMessage = maxPointer
	// DefaultTransfers is the number of transfers at once unless set otherwise.
	DefaultTransfers = 32
)

var errTransferRecord = errors.New("a record is too long for a message")

// stream writes the transfer that the worker's Responder has decided on, behind
// the pending replies, in messages of which each is handed to the network before
// the next one is made. The frame is the query; mark is where its reply begins in
// the worker's buffer. It returns false when the connection is over.
//
// A secondary that takes no octets within the write timeout loses its
// connection. Others notice nothing: each transfer runs in the goroutine of its
// connection and reads an Edition, which never changes.
func (c *connection) stream(ctx context.Context, query []byte, mark int, outcome Outcome, start time.Time) (going bool) {
	w := c.worker
	r := &w.responder
	s := &streaming{connection: c, query: query, transfer: r.transfer, kind: outcome.Transfer}
	w.out = w.out[:mark]
	defer func() {
		if fault := recover(); fault != nil {
			w.metrics.panics.Inc()
			w.trouble("a zone transfer made the server panic", fmt.Errorf("%v", fault),
				"peer", c.peer.Addr, "query", fmt.Sprintf("%x", query), "stack", string(debug.Stack()))
			going = false
		}
		r.transfer = transfer{}
		r.release()
	}()
	if !c.run.takeTransferSlot(ctx, c.run.tcp.WriteTimeout) {
		w.metrics.transfers.count(outcome.Transfer, "busy")
		v := verdict{rcode: ServFail, ede: extendedError{edeOther, "too many zone transfers are under way"}}
		w.out = r.encode(append(w.out, 0, 0), query, c.peer, &v)
		binary.BigEndian.PutUint16(w.out[mark:], uint16(len(w.out)-mark-2))
		c.pending++
		outcome.Rcode, outcome.Size, outcome.Transfer = v.rcode, r.out.size(), NoTransfer
		w.observe(outcome)
		return true
	}
	defer func() { <-c.run.transferSlots }()

	err := s.run()
	took := time.Since(start)
	outcome.Size = s.octets
	result := "ok"
	if err != nil {
		result = "failed"
		outcome = Outcome{Transport: c.peer.Transport, Dropped: DropWrite}
	}
	w.metrics.transfers.count(s.kind, result)
	w.observe(outcome)
	s.log(err, took)
	return err == nil
}

// takeTransferSlot waits for a place among the transfers under way.
func (r *run) takeTransferSlot(ctx context.Context, most time.Duration) bool {
	select {
	case r.transferSlots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case r.transferSlots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// A streaming is one transfer on its way.
type streaming struct {
	*connection
	query    []byte
	transfer transfer
	kind     TransferKind

	mark, answers             int // of the open message
	messages, records, octets int
	open                      bool
}

func (s *streaming) run() error {
	edition := s.transfer.edition
	err := s.set(edition.SOA())
	if s.kind == TransferWhole {
		for set := range edition.RRSets() {
			if err == nil {
				err = s.set(set)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, step := range s.transfer.steps {
		err = errors.Join(err, s.set(step.From), s.sets(step.Removed), s.set(step.To), s.sets(step.Added))
		if err != nil {
			return err
		}
	}
	return errors.Join(err, s.set(edition.SOA()), s.end())
}

func (s *streaming) sets(sets []*zones.RRSet) error {
	for _, set := range sets {
		if err := s.set(set); err != nil {
			return err
		}
	}
	return nil
}

func (s *streaming) set(set *zones.RRSet) error {
	for _, data := range set.Data {
		if err := s.record(set, string(data)); err != nil {
			return err
		}
	}
	return nil
}

// record writes one record into the open message, or into the next one.
func (s *streaming) record(set *zones.RRSet, data string) error {
	out := &s.worker.responder.out
	if !s.open {
		s.begin()
	}
	if !out.record(set.Name, set.Type, set.TTL, data) {
		if s.answers > 0 {
			if err := s.end(); err != nil {
				return err
			}
			s.begin()
		}
		if !out.record(set.Name, set.Type, set.TTL, data) {
			out.limit += maxMessage - transferMessage
			if !out.record(set.Name, set.Type, set.TTL, data) {
				return errTransferRecord
			}
		}
	}
	s.answers++
	s.records++
	return nil
}

// begin opens a message. Only the first one has the question and an OPT record
// (RFC 5936 sections 2.2.1 and 2.2.5).
func (s *streaming) begin() {
	w := s.worker
	r := &w.responder
	s.mark, s.answers, s.open = len(w.out), 0, true
	limit := transferMessage - r.tsigLength()
	first := s.messages == 0
	if first {
		limit -= r.optLength(s.peer.Transport, &r.opening)
	}
	r.out.begin(append(w.out, 0, 0), limit, 0)
	if first {
		r.out.buf = append(r.out.buf, s.query[headerSize:r.msg.questionEnd]...)
		r.out.question = r.question()
	}
}

// end closes the open message and hands all that is ready to the network.
func (s *streaming) end() error {
	w := s.worker
	r := &w.responder
	out := &r.out
	v := r.opening
	v.authoritative = true
	questions, additional := 0, 0
	if s.messages == 0 {
		questions = 1
		if r.msg.edns {
			out.buf = r.appendOPT(out.buf, s.peer.Transport, &v, maxMessage)
			additional = 1
		}
	}
	out.header(&r.msg, &v, questions, s.answers, 0, additional)
	if r.msg.tsigOwner > 0 {
		// A long transfer outlasts the fudge: each message has its own time.
		out.buf = r.signature.sign(out.buf, out.base, uint64(time.Now().Unix()))
	}
	binary.BigEndian.PutUint16(out.buf[s.mark:], uint16(out.size()))
	s.octets += out.size()
	s.messages++
	s.open = false
	w.out = out.buf

	err := s.net.SetWriteDeadline(time.Now().Add(s.connection.run.tcp.WriteTimeout))
	if err == nil {
		_, err = s.net.Write(w.out)
	}
	if err != nil {
		for range s.pending {
			w.metrics.drop(s.peer.Transport, DropWrite)
		}
	}
	w.out, s.pending = w.out[:0], 0
	return err
}

func (s *streaming) log(err error, took time.Duration) {
	r := &s.worker.responder
	key := ""
	if signer := r.signer(); signer != nil {
		key = signer.name.String()
	}
	about := []any{
		"zone", s.transfer.edition.Origin().String(), "serial", s.transfer.edition.Serial(), "from", s.transfer.from, "kind", s.kind.String(),
		"peer", s.peer.Addr.String(), "key", key, "records", s.records, "messages", s.messages, "octets", s.octets, "took", took,
	}
	if err != nil {
		s.connection.run.log.Warn("a zone transfer has failed", append(about, "err", err)...)
		return
	}
	s.connection.run.log.Info("a zone was transferred", about...)
}
