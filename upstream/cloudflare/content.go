package cloudflare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/clusterzone/clusterzone/zones"
)

// An object is one value of a record set, as the API reads and writes it. What is
// left out of a patch stays as it is: Comment and Tags where they are nil, and what
// isn't here at all (settings, private routing).
type object struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Content  string          `json:"content,omitempty"`
	TTL      uint32          `json:"ttl"`
	Proxied  bool            `json:"proxied"`
	Priority *uint16         `json:"priority,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"` // a data, in types that we write
	Comment  *string         `json:"comment,omitempty"`
	Tags     []string        `json:"tags,omitzero"`
	Meta     *meta           `json:"meta,omitempty"`
}

type meta struct {
	ReadOnly bool `json:"read_only"`
}

// A data is the data of MX, SRV and NAPTR records in parts. Those of other types
// are never read.
type data struct {
	Priority    *uint16 `json:"priority,omitempty"`
	Weight      *uint16 `json:"weight,omitempty"`
	Port        *uint16 `json:"port,omitempty"`
	Target      string  `json:"target,omitempty"`
	Order       *uint16 `json:"order,omitempty"`
	Preference  *uint16 `json:"preference,omitempty"`
	Flags       string  `json:"flags,omitempty"`
	Service     string  `json:"service,omitempty"`
	Regex       string  `json:"regex,omitempty"`
	Replacement string  `json:"replacement,omitempty"`
}

// canonical returns a target in the form in which all are compared: numbers and
// addresses as the zones write them, names without final dot, and TXT as quoted
// character-strings of 255 octets each, whatever parts it was written in, since
// Cloudflare parts them anew.
func canonical(kind zones.Type, target string) (string, error) {
	data, err := zones.ParseRdata(kind, target)
	if err != nil {
		return "", err
	}
	switch kind {
	case zones.TypeTXT:
		return text(joined(data)), nil
	case zones.TypeA, zones.TypeAAAA:
		return data.Text(kind), nil
	}
	written := data.Text(kind)
	if strings.HasSuffix(written, " .") || written == "." {
		return written, nil // the root, of a null MX (RFC 7505)
	}
	return strings.TrimSuffix(written, "."), nil
}

// joined returns the octets of TXT data without the lengths of its strings.
func joined(data zones.Rdata) string {
	var all strings.Builder
	for rest := string(data); rest != ""; {
		n := min(int(rest[0]), len(rest)-1)
		all.WriteString(rest[1 : 1+n])
		rest = rest[1+n:]
	}
	return all.String()
}

// text writes octets as quoted character-strings.
func text(octets string) string {
	var wire strings.Builder
	for {
		part := octets[:min(len(octets), 255)]
		wire.WriteByte(byte(len(part)))
		wire.WriteString(part)
		if octets = octets[len(part):]; octets == "" {
			return zones.Rdata(wire.String()).Text(zones.TypeTXT)
		}
	}
}

// target returns what an object holds as a target in canonical form. Types that
// nobody manages keep what Cloudflare calls their content.
func (o *object) target(kind zones.Type) (string, error) {
	switch kind {
	case zones.TypeTXT:
		written, err := canonical(kind, o.Content)
		if err != nil || o.Content == "" {
			return text(o.Content), nil // stored as it is, quotes and all
		}
		return written, nil
	case zones.TypeA, zones.TypeAAAA, zones.TypeCNAME, zones.TypeNS, zones.TypePTR:
		return canonical(kind, o.Content)
	case zones.TypeMX:
		priority := o.Priority
		if priority == nil {
			priority = o.parts().Priority
		}
		if priority == nil {
			return "", errors.New("it is listed without its priority")
		}
		return canonical(kind, fmt.Sprintf("%d %s", *priority, o.Content))
	case zones.TypeSRV:
		d := o.parts()
		if d.Priority == nil || d.Weight == nil || d.Port == nil || d.Target == "" {
			return "", errors.New("it is listed without its data")
		}
		return canonical(kind, fmt.Sprintf("%d %d %d %s", *d.Priority, *d.Weight, *d.Port, d.Target))
	case zones.TypeNAPTR:
		d := o.parts()
		if d.Order == nil || d.Preference == nil || d.Replacement == "" {
			return "", errors.New("it is listed without its data")
		}
		return canonical(kind, fmt.Sprintf("%d %d %s %s %s %s", *d.Order, *d.Preference, text(d.Flags), text(d.Service), text(d.Regex), d.Replacement))
	}
	return o.Content, nil
}

// setTarget writes a canonical target into an object.
func (o *object) setTarget(kind zones.Type, target string) error {
	o.Content, o.Data, o.Priority = target, nil, nil
	switch kind {
	case zones.TypeMX:
		numbers, rest, err := numbers(target, 1)
		if err != nil {
			return err
		}
		o.Content, o.Priority = rest, numbers[0]
	case zones.TypeSRV:
		numbers, rest, err := numbers(target, 3)
		if err != nil {
			return err
		}
		return o.setParts(&data{Priority: numbers[0], Weight: numbers[1], Port: numbers[2], Target: rest})
	case zones.TypeNAPTR:
		numbers, rest, err := numbers(target, 2)
		if err != nil {
			return err
		}
		at := strings.LastIndexByte(rest, ' ')
		strs, err := zones.ParseRdata(zones.TypeTXT, rest[:max(at, 0)])
		if err != nil {
			return fmt.Errorf("%q is no data of a NAPTR record", target)
		}
		parts := split(strs)
		if len(parts) != 3 {
			return fmt.Errorf("%q is no data of a NAPTR record", target)
		}
		return o.setParts(&data{Order: numbers[0], Preference: numbers[1], Flags: parts[0], Service: parts[1], Regex: parts[2], Replacement: rest[at+1:]})
	}
	return nil
}

// parts returns the data in parts; nothing where there is none of their form.
func (o *object) parts() data {
	var d data
	if len(o.Data) == 0 || json.Unmarshal(o.Data, &d) != nil {
		return data{}
	}
	return d
}

func (o *object) setParts(d *data) error {
	written, err := json.Marshal(d)
	o.Content, o.Data = "", written
	return err
}

// split returns the strings of TXT data.
func split(data zones.Rdata) []string {
	var list []string
	for rest := string(data); rest != ""; {
		n := min(int(rest[0]), len(rest)-1)
		list = append(list, rest[1:1+n])
		rest = rest[1+n:]
	}
	return list
}

// numbers takes n numbers of 16 bits from the front of a target.
func numbers(target string, n int) (list []*uint16, rest string, err error) {
	rest = target
	for range n {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		value, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return nil, "", fmt.Errorf("%q in %q is no number of 16 bits", word, target)
		}
		number := uint16(value)
		list = append(list, &number)
	}
	return list, rest, nil
}
