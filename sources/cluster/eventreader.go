package cluster

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/clusterzone/clusterzone/sources"
)

// maxEvent bounds the octets of one event: etcd takes objects of 1.5 MiB, and
// API servers requests of 3 MiB.
const maxEvent = 16 << 20

// An eventReader reads the events of a watch in protobuf: each is its length in four
// octets, then a WatchEvent with the object in an envelope
// (k8s.io/apimachinery/pkg/apis/meta/v1 and pkg/runtime, generated.proto).
type eventReader struct {
	kind sources.Kind
	in   *bufio.Reader
	room []byte // for one event, used again
}

func newEventReader(kind sources.Kind, in io.Reader) *eventReader {
	return &eventReader{kind: kind, in: bufio.NewReaderSize(in, 64<<10)}
}

// A garbledError says that what came is none of the events that were asked for.
type garbledError struct{ err error }

// Error names the mend, which is not the reader's: whoever stands between answers in
// another form.
func (g *garbledError) Error() string {
	return fmt.Sprintf("a watch that is not in protobuf, though asked for so: %v", g.err)
}

// Unwrap returns the cause.
func (g *garbledError) Unwrap() error { return g.err }

// next returns the next event: its object is a *sources.Packed, or a *metav1.Status
// where the event is an error. The error is a *garbledError, or that of the stream.
func (r *eventReader) next() (watch.Event, error) {
	var length [4]byte
	if _, err := io.ReadFull(r.in, length[:]); err != nil {
		return watch.Event{}, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > maxEvent {
		return watch.Event{}, &garbledError{fmt.Errorf("an event of %d octets", size)}
	}
	if int(size) > cap(r.room) {
		r.room = make([]byte, max(int(size), 4<<10))
	}
	frame := r.room[:size]
	if _, err := io.ReadFull(r.in, frame); err != nil {
		return watch.Event{}, err
	}
	event, err := r.parse(frame)
	if err != nil {
		return watch.Event{}, &garbledError{err}
	}
	return event, nil
}

// parse reads a WatchEvent. Nothing of frame is kept.
func (r *eventReader) parse(frame []byte) (event watch.Event, err error) {
	top, err := fields(frame)
	if err != nil {
		return event, err
	}
	// The types are few, and words of the package: no string is made.
	event.Type = watch.EventType("")
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if string(top[1]) == string(known) {
			event.Type = known
		}
	}
	if event.Type == "" {
		return event, fmt.Errorf("an event of type %.20q", top[1])
	}
	extension, err := fields(top[2])
	if err != nil {
		return event, err
	}
	object := extension[1]
	if event.Type == watch.Error {
		event.Object, err = runtime.Decode(scheme.Codecs.UniversalDeserializer(), object)
		if err != nil {
			return event, err
		}
		if _, ok := event.Object.(*metav1.Status); !ok {
			return event, fmt.Errorf("an error that is a %T", event.Object)
		}
		return event, nil
	}
	wire, err := r.open(object)
	if err != nil {
		return event, err
	}
	event.Object, err = sources.Pack(r.kind, wire)
	return event, err
}

// envelopeMagic stands before an object in protobuf.
const envelopeMagic = "k8s\x00"

// open takes an object of the reader's kind out of its envelope.
func (r *eventReader) open(object []byte) ([]byte, error) {
	if !strings.HasPrefix(string(object[:min(len(object), len(envelopeMagic))]), envelopeMagic) {
		return nil, errors.New("an object that is not in protobuf")
	}
	unknown, err := fields(object[len(envelopeMagic):])
	if err != nil {
		return nil, err
	}
	meta, err := fields(unknown[1])
	if err != nil {
		return nil, err
	}
	if kind := string(meta[2]); kind != string(r.kind) {
		return nil, fmt.Errorf("an object of kind %.40q", kind)
	}
	return unknown[2], nil
}

// fields returns the octets of the first fields of a message, by number, where they
// are strings, octets or messages; of one that comes twice the last. The others are
// none that are read here.
func fields(message []byte) (found [3][]byte, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return found, protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(number, kind, message[n:])
		if m < 0 {
			return found, protowire.ParseError(m)
		}
		if int(number) < len(found) && kind == protowire.BytesType {
			found[number], _ = protowire.ConsumeBytes(message[n : n+m])
		}
		message = message[n+m:]
	}
	return found, nil
}
