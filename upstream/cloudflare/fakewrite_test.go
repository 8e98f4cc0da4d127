package cloudflare

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A refusal is why one entry of a batch can't be.
type refusal struct {
	code    int
	message string
}

func (f *fake) batch(r *http.Request, zone map[string]any) (int, fakeReply) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return failure(http.StatusBadRequest, 9207, "Content-type must be application/json.")
	}
	f.bodies = append(f.bodies, string(text))
	var body struct {
		Deletes []struct{ ID string }
		Patches []json.RawMessage
		Puts    []json.RawMessage
		Posts   []json.RawMessage
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return failure(http.StatusBadRequest, 9207, "Request body is invalid.")
	}
	id := zone["id"].(string)
	plan := zone["plan"].(map[string]any)["legacy_id"].(string)
	most := 200
	if plan != "free" {
		most = 3500
	}
	if n := len(body.Deletes) + len(body.Patches) + len(body.Puts) + len(body.Posts); n > most {
		return failure(http.StatusBadRequest, 81000, fmt.Sprintf("Batch of %d exceeds the limit of %d", n, most))
	}
	t := &transaction{zone: zone["name"].(string), plan: plan, quota: f.quota, list: slices.Clone(f.records[id]), fake: f}
	refuse := func(list string, i int, why *refusal) (int, fakeReply) {
		var more []map[string]any
		if f.pointers {
			more = append(more, map[string]any{"source": map[string]any{"pointer": fmt.Sprintf("/%s/%d", list, i)}})
		}
		return failure(http.StatusBadRequest, why.code, why.message, more...)
	}
	result := map[string][]fakeRecord{"deletes": {}, "patches": {}, "posts": {}}
	for i, entry := range body.Deletes {
		gone, why := t.remove(entry.ID)
		if why != nil {
			return refuse("deletes", i, why)
		}
		result["deletes"] = append(result["deletes"], gone)
	}
	for i, entry := range body.Patches {
		record, why := t.patch(entry)
		if why != nil {
			return refuse("patches", i, why)
		}
		result["patches"] = append(result["patches"], record)
	}
	for i, entry := range body.Posts {
		record, why := t.post(entry)
		if why != nil {
			return refuse("posts", i, why)
		}
		result["posts"] = append(result["posts"], record)
	}
	f.before[id], f.records[id] = f.records[id], t.list
	return success(result)
}

// A transaction works on a copy of a zone's list.
type transaction struct {
	zone, plan string
	quota      int
	list       []fakeRecord
	fake       *fake
}

func (t *transaction) find(id string) int {
	return slices.IndexFunc(t.list, func(r fakeRecord) bool { return r.ID == id })
}

func (t *transaction) remove(id string) (fakeRecord, *refusal) {
	at := t.find(id)
	if at < 0 {
		return fakeRecord{}, &refusal{81044, "Record does not exist."}
	}
	gone := t.list[at]
	t.list = slices.Delete(t.list, at, at+1)
	return gone, nil
}

func (t *transaction) patch(entry json.RawMessage) (fakeRecord, *refusal) {
	var key struct{ ID string }
	if err := json.Unmarshal(entry, &key); err != nil {
		return fakeRecord{}, &refusal{9207, "Request body is invalid."}
	}
	at := t.find(key.ID)
	if at < 0 {
		return fakeRecord{}, &refusal{81044, "Record does not exist."}
	}
	if t.list[at].Meta["read_only"] == true {
		return fakeRecord{}, &refusal{1043, "This record is managed by another product."}
	}
	next := t.list[at]
	next.Comment, next.Tags = clonePointer(next.Comment), slices.Clone(next.Tags)
	if err := json.Unmarshal(entry, &next); err != nil {
		return fakeRecord{}, &refusal{9207, "Request body is invalid."}
	}
	rest := slices.Delete(slices.Clone(t.list), at, at+1)
	if why := t.check(&next, rest); why != nil {
		return fakeRecord{}, why
	}
	t.list[at] = next
	return next, nil
}

func clonePointer(text *string) *string {
	if text == nil {
		return nil
	}
	next := *text
	return &next
}

func (t *transaction) post(entry json.RawMessage) (fakeRecord, *refusal) {
	next := fakeRecord{TTL: 1, Tags: []string{}, Settings: map[string]any{}, Meta: map[string]any{}}
	if err := json.Unmarshal(entry, &next); err != nil {
		return fakeRecord{}, &refusal{9207, "Request body is invalid."}
	}
	if why := t.check(&next, t.list); why != nil {
		return fakeRecord{}, why
	}
	if t.quota > 0 && len(t.list) >= t.quota {
		return fakeRecord{}, &refusal{81045, "Record quota exceeded."}
	}
	t.fake.next++
	next.ID = fmt.Sprintf("%032x", t.fake.next)
	t.list = append(t.list, next)
	return next, nil
}

// check refuses what Cloudflare does, and brings a record into the form that it
// stores.
func (t *transaction) check(r *fakeRecord, others []fakeRecord) *refusal {
	r.Name = strings.ToLower(r.Name)
	switch {
	case r.Name != t.zone && !strings.HasSuffix(r.Name, "."+t.zone), strings.Contains(strings.TrimPrefix(r.Name, "*."), "*"):
		return &refusal{9000, "DNS name is invalid."}
	case r.TTL != 1 && (r.TTL < 60 && !(t.plan == "enterprise" && r.TTL >= 30) || r.TTL > 86400):
		return &refusal{9021, "Invalid TTL. Must be between 60 and 86400 seconds, or 1 for Automatic."}
	case r.Proxied && !slices.Contains([]string{"A", "AAAA", "CNAME"}, r.Type):
		return &refusal{9003, "This record type cannot be proxied."}
	case r.Comment != nil && (t.plan == "free" && len(*r.Comment) > 100 || len(*r.Comment) > 500):
		return &refusal{9300, "DNS record has a comment that is too long."}
	case t.plan == "free" && len(r.Tags) > 0, len(r.Tags) > 20:
		return &refusal{9301, "DNS record has too many tags."}
	}
	if r.Proxied {
		r.TTL = 1
	}
	if why := r.store(); why != nil {
		return why
	}
	for _, other := range others {
		same := other.Type == r.Type
		cname := other.Type == "CNAME" || r.Type == "CNAME"
		switch {
		case other.Name != r.Name:
		case same && other.Content == r.Content:
			return &refusal{81058, "An identical record already exists."}
		case same && cname:
			return &refusal{81053, "An A, AAAA, or CNAME record with that host already exists."}
		case cname && (slices.Contains([]string{"A", "AAAA"}, other.Type) || slices.Contains([]string{"A", "AAAA"}, r.Type)):
			return &refusal{81053, "An A, AAAA, or CNAME record with that host already exists."}
		case !same && (other.Type == "NS" || r.Type == "NS"):
			return &refusal{81056, "NS records with that host already exist."}
		}
	}
	return nil
}

// store checks the data of a record.
func (r *fakeRecord) store() *refusal {
	switch r.Type {
	case "A", "AAAA":
		addr, err := netip.ParseAddr(r.Content)
		if err != nil || addr.Is4() != (r.Type == "A") || addr.IsLoopback() && r.Proxied {
			return &refusal{9005, "Content for " + r.Type + " record is invalid."}
		}
	case "CNAME", "NS", "PTR":
		if r.Content == "" || strings.HasSuffix(r.Content, ".") {
			return &refusal{9007, "Content for " + r.Type + " record is invalid."}
		}
		if r.Type == "CNAME" && strings.EqualFold(r.Content, r.Name) {
			return &refusal{9039, "CNAME content cannot reference itself."}
		}
		r.Content = strings.ToLower(r.Content)
	case "MX":
		if r.Content == "" || r.Priority == nil {
			return &refusal{9101, "priority is a required data field."}
		}
	case "SRV", "NAPTR":
		var data map[string]any
		if json.Unmarshal(r.Data, &data) != nil {
			return &refusal{9101, "data is a required field."}
		}
		needs := map[string][]string{"SRV": {"priority", "weight", "port", "target"}, "NAPTR": {"order", "preference", "replacement"}}[r.Type]
		var words []string
		for _, key := range needs {
			if data[key] == nil {
				return &refusal{9101, key + " is a required data field."}
			}
			words = append(words, fmt.Sprint(data[key]))
		}
		r.Content = strings.Join(words, "\t")
	case "TXT":
		if r.Content == "" || len(r.Content) > 4096 {
			return &refusal{9009, "Content for TXT record is invalid."}
		}
		if text, ok := strings.CutPrefix(r.Content, `"`); ok && len(r.Content) > 257 && !strings.Contains(text, `" "`) {
			// One string that is too long is parted.
			text = strings.TrimSuffix(text, `"`)
			var parts []string
			for part := range slices.Chunk([]byte(text), 255) {
				parts = append(parts, `"`+string(part)+`"`)
			}
			r.Content = strings.Join(parts, " ")
		}
	default:
		return &refusal{1004, "DNS Validation Error"}
	}
	return nil
}
