package sources

import (
	"fmt"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Packed is an Ingress or a Service in few octets: its protobuf form, as API
// servers write it, without what no translation reads. A cluster has many of them, a
// translation reads one at a time, and unpacked they take four times as much
// memory. A Sink takes a Packed in the place of the object.
//
// Of the metadata, it shows those fields that Pack says; Unpack returns the
// whole object. A Packed is frozen.
type Packed struct {
	metav1.ObjectMeta
	kind Kind
	text packedText
}

var (
	_ metav1.Object  = (*Packed)(nil)
	_ runtime.Object = (*Packed)(nil)
)

// GetObjectKind implements runtime.Object.
func (p *Packed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (p *Packed) DeepCopyObject() runtime.Object {
	copied := *p
	p.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// Kind is the kind of the object.
func (p *Packed) Kind() Kind { return p.kind }

// Unpack returns the object, which is the caller's. The error says why the
// octets are no object of the kind.
func (p *Packed) Unpack() (metav1.Object, error) { return p.text.unpack(p.kind) }

// Packs reports whether objects of the kind can be packed: those that nothing but
// their own translation reads, of kinds that every API server writes as protobuf.
func Packs(kind Kind) bool { return kind == KindIngress || kind == KindService }

// A packedText is the protobuf form of an object without its resource version,
// managed fields and the copy that kubectl apply keeps, then the resource version,
// and its length in one octet.
type packedText string

func (t packedText) parts() (wire, version string) {
	end := len(t) - 1
	start := end - int(t[end])
	return string(t[:start]), string(t[start:end])
}

// same reports whether two states of an object differ in nothing that a
// translation may read. API servers write an object in one way only, maps by key.
func (t packedText) same(other packedText) bool {
	a, _ := t.parts()
	b, _ := other.parts()
	return a == b
}

func (t packedText) unpack(kind Kind) (metav1.Object, error) {
	info, _ := Info(kind)
	wire, version := t.parts()
	obj, ok := info.New().(interface {
		metav1.Object
		Unmarshal([]byte) error
	})
	if !ok {
		return nil, fmt.Errorf("objects of kind %s have no protobuf form", kind)
	}
	if err := obj.Unmarshal(octets(wire)); err != nil {
		return nil, fmt.Errorf("%s that can't be read: %w", kind, err)
	}
	obj.SetResourceVersion(version)
	return obj, nil
}

// pack packs an object that came in another form, and reports whether that could be done.
func pack(kind Kind, obj metav1.Object) (*Packed, bool) {
	if packed, ok := obj.(*Packed); ok {
		return packed, true
	}
	marshaler, ok := obj.(interface{ Marshal() ([]byte, error) })
	if !ok || !Packs(kind) {
		return nil, false
	}
	wire, err := marshaler.Marshal()
	if err != nil {
		return nil, false // it is kept as it is
	}
	packed, err := Pack(kind, wire)
	return packed, err == nil
}

// The fields of k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto that are
// read here, and that of the metadata in every object.
const (
	fieldMetadata        = 1
	fieldName            = 1
	fieldNamespace       = 3
	fieldUID             = 5
	fieldResourceVersion = 6
	fieldAnnotations     = 12
	fieldManagedFields   = 17
)

// Pack packs an object of kind, which Packs must report, from its protobuf form:
// without the envelope that API servers put around it. Of the metadata, the Packed
// shows namespace, name, UID, resource version and whether it ends the initial
// events of a watch (annotation k8s.io/initial-events-end). Pack keeps nothing of
// wire. The error says that it is no protobuf; whether it is a good object of the
// kind, Unpack finds out.
func Pack(kind Kind, wire []byte) (*Packed, error) {
	p := &Packed{kind: kind}
	var room [packRoom]byte
	out := room[:0]
	for len(wire) > 0 {
		number, value, rest, err := nextField(wire)
		if err != nil {
			return nil, err
		}
		field := wire[:len(wire)-len(rest)]
		wire = rest
		if number != fieldMetadata || value == nil {
			out = append(out, field...)
			continue
		}
		kept, err := p.readMeta(value)
		if err != nil {
			return nil, err
		}
		out = protowire.AppendTag(out, fieldMetadata, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(kept))
		out = appendMeta(out, value)
	}
	version := p.ResourceVersion
	if len(version) > 255 { // no API server writes such; only a reference in an event would have it
		version = ""
	}
	out = append(append(out, version...), byte(len(version)))
	p.text = packedText(out)
	return p, nil
}

// packRoom is how many octets a packed object has at most for which Pack needs no
// memory but that of the outcome.
const packRoom = 4 << 10

// readMeta notes what is shown of metadata, and returns how many octets of it are kept.
func (p *Packed) readMeta(meta []byte) (kept int, err error) {
	for len(meta) > 0 {
		number, value, rest, err := nextField(meta)
		if err != nil {
			return 0, err
		}
		switch number {
		case fieldResourceVersion:
			p.ResourceVersion = string(value)
		case fieldName:
			p.Name = string(value)
		case fieldNamespace:
			p.Namespace = string(value)
		case fieldUID:
			p.UID = types.UID(value)
		case fieldAnnotations:
			key, word, err := mapEntry(value)
			if err != nil {
				return 0, err
			}
			if string(key) == metav1.InitialEventsAnnotationKey {
				p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: string(word)}
			}
		}
		if keepsMeta(number, value) {
			kept += len(meta) - len(rest)
		}
		meta = rest
	}
	return kept, nil
}

// appendMeta appends what is kept of metadata that readMeta has read.
func appendMeta(out, meta []byte) []byte {
	for len(meta) > 0 {
		number, value, rest, err := nextField(meta)
		if err != nil {
			return out // readMeta would have said so
		}
		if keepsMeta(number, value) {
			out = append(out, meta[:len(meta)-len(rest)]...)
		}
		meta = rest
	}
	return out
}

// keepsMeta reports whether a field of the metadata is kept.
func keepsMeta(number protowire.Number, value []byte) bool {
	switch number {
	case fieldManagedFields, fieldResourceVersion:
		return false
	case fieldAnnotations:
		key, _, _ := mapEntry(value)
		return string(key) != corev1.LastAppliedConfigAnnotation
	}
	return true
}

// mapEntry returns key and value of an entry of a map of strings.
func mapEntry(entry []byte) (key, value []byte, err error) {
	for len(entry) > 0 {
		number, text, rest, err := nextField(entry)
		if err != nil {
			return nil, nil, err
		}
		switch entry = rest; number {
		case 1:
			key = text
		case 2:
			value = text
		}
	}
	return key, value, nil
}

// nextField cuts the first field off: its number, its octets where it has a length
// (not nil then), and what follows.
func nextField(wire []byte) (number protowire.Number, value, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(wire)
	if n < 0 {
		return 0, nil, nil, fmt.Errorf("an object that is no protobuf: %w", protowire.ParseError(n))
	}
	if kind == protowire.BytesType {
		value, m := protowire.ConsumeBytes(wire[n:])
		if m < 0 {
			return 0, nil, nil, fmt.Errorf("an object that is no protobuf: %w", protowire.ParseError(m))
		}
		return number, value, wire[n+m:], nil
	}
	m := protowire.ConsumeFieldValue(number, kind, wire[n:])
	if m < 0 {
		return 0, nil, nil, fmt.Errorf("an object that is no protobuf: %w", protowire.ParseError(m))
	}
	return number, nil, wire[n+m:], nil
}

// octets returns the octets of a text without a copy, for a reader that neither
// changes nor keeps them: objects copy what they take.
func octets(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// uid returns the UID of a packed object.
func (t packedText) uid() (uid types.UID) {
	wire, _ := t.parts()
	eachField(octets(wire), fieldMetadata, func(meta []byte) {
		eachField(meta, fieldUID, func(value []byte) { uid = types.UID(value) })
	})
	return uid
}

// eachField calls look with the octets of each field of that number. What is no
// protobuf has none.
func eachField(wire []byte, wanted protowire.Number, look func(value []byte)) {
	for len(wire) > 0 {
		number, value, rest, err := nextField(wire)
		if err != nil {
			return
		}
		if wire = rest; number == wanted && value != nil {
			look(value)
		}
	}
}
