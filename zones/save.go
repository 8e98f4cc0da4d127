package zones

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// The saved state is a file of JSON lines: a head, then one line an object. It
// holds what objects asked for, not the zones: a program with other flags
// builds its own zones from it.
const stateVersion = 1

type stateHead struct {
	Clusterzone string // the kind of file
	Version     int
	Saved       time.Time
	Objects     int
	Serials     map[string]uint32 // by origin
}

const stateKind = "saved state"

// Save writes what the Table holds, so that a later process can answer before
// it reaches an API server. now is noted as the time of saving.
func (t *Table) Save(w io.Writer, now time.Time) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	head := stateHead{Clusterzone: stateKind, Version: stateVersion, Saved: now.UTC(), Objects: len(t.objects), Serials: map[string]uint32{}}
	for origin, b := range t.zones {
		head.Serials[origin.String()] = b.serial
	}
	if err := encoder.Encode(head); err != nil {
		return err
	}
	for _, owner := range t.sortedOwners() {
		if err := encoder.Encode(t.objects[owner].Object); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func (t *Table) sortedOwners() []Owner {
	owners := make([]Owner, 0, len(t.objects))
	for owner := range t.objects {
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, Owner.compare)
	return owners
}

// Load puts the objects that Save wrote and lets the serials go on from there.
// It returns when they were saved. After an error the Table is as before.
func (t *Table) Load(r io.Reader) (saved time.Time, err error) {
	decoder := json.NewDecoder(bufio.NewReader(r))
	var head stateHead
	if err := decoder.Decode(&head); err != nil {
		return time.Time{}, fmt.Errorf("the saved state can't be read: %w", err)
	}
	if head.Clusterzone != stateKind || head.Version != stateVersion {
		return time.Time{}, errors.New("this is no saved state of this version of clusterzone")
	}
	objects := make([]Object, 0, min(head.Objects, 1<<20))
	for {
		var o Object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("the saved state can't be read: %w", err)
		}
		objects = append(objects, o)
	}
	if len(objects) != head.Objects {
		return time.Time{}, fmt.Errorf("the saved state is cut short: it holds %d objects of %d", len(objects), head.Objects)
	}
	for _, o := range objects {
		t.Put(o)
	}
	for origin, b := range t.zones {
		b.serial = max(b.serial, head.Serials[origin.String()])
	}
	return head.Saved, nil
}

// MarshalText writes the name in presentation form.
func (n Name) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText reads what MarshalText wrote; an empty text is the zero Name.
func (n *Name) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*n = ""
		return nil
	}
	name, err := ParseName(string(text))
	if err != nil {
		return fmt.Errorf("%q is no name: %w", text, err)
	}
	*n = name
	return nil
}

// MarshalText writes the type's mnemonic; TypeNone is empty.
func (t Type) MarshalText() ([]byte, error) {
	if t == TypeNone {
		return nil, nil
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (t *Type) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*t = TypeNone
		return nil
	}
	parsed, err := ParseType(string(text))
	*t = parsed
	return err
}
