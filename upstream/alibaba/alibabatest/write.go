package alibabatest

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// goodRR is what the products take as a name within a zone: an asterisk is a whole
// first label, so that names such as "a-*" are refused.
var goodRR = regexp.MustCompile(`^(@|\*|(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*)$`)

// oneString is a TXT value of one quoted string, whose quotes the API drops.
var oneString = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"$`)

// read makes an object of the parameters of a call, or refuses them.
func (z *held) read(q map[string]string) (Record, *failure) {
	r := Record{RR: q["RR"] + q["Rr"], Type: q["Type"], Value: q["Value"], Line: "default"}
	types := []string{"A", "AAAA", "CNAME", "NS", "MX", "TXT", "SRV", "CAA"}
	mostMX, ttl := 50, uint32(600)
	if z.Private {
		types = []string{"A", "AAAA", "CNAME", "TXT", "MX", "PTR", "SRV"}
		mostMX, ttl = 99, 60
	}
	switch {
	case !goodRR.MatchString(r.RR):
		return r, refuse("DomainRecordNotValid", "The host record %s is invalid.", r.RR)
	case slices.Contains(z.Forbidden, r.RR):
		return r, refuse("RecordForbidden.DNSChange", "The record is not allowed to be changed.")
	case !slices.Contains(types, r.Type):
		return r, refuse("InvalidType", "The type %s is invalid.", r.Type)
	case q["Line"] != "" && q["Line"] != "default":
		return r, refuse("InvalidLine", "The line is invalid.")
	}
	r.TTL = max(ttl, z.MinTTL)
	if text := q["TTL"] + q["Ttl"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < int(z.MinTTL) || n > 86400 {
			return r, refuse("QuotaExceeded.TTL", "The TTL %s is not supported by the edition.", text)
		}
		r.TTL = uint32(n)
	}
	switch r.Type {
	case "A", "AAAA":
		addr, err := netip.ParseAddr(r.Value)
		if err != nil || addr.Is4() != (r.Type == "A") {
			return r, refuse("InvalidRR.Format", "The value %s is invalid.", r.Value)
		}
	case "CNAME", "NS", "PTR":
		r.Value = strings.ToLower(strings.TrimSuffix(r.Value, "."))
	case "SRV":
		if len(strings.Fields(r.Value)) != 4 {
			return r, refuse("InvalidRR.Format", "The value %s is invalid.", r.Value)
		}
	case "MX":
		n, err := strconv.Atoi(q["Priority"])
		if err != nil || n < 1 || n > mostMX {
			return r, refuse("InvalidPriority", "The priority is invalid.")
		}
		r.Priority = n
	case "TXT":
		if found := oneString.FindStringSubmatch(r.Value); found != nil {
			r.Value = found[1]
		}
	}
	return r, nil
}

// fits refuses what can't stand beside the other objects of the zone, without the
// object of the given ID.
func (z *held) fits(r Record, id string) *failure {
	for _, have := range z.records {
		if have.ID == id || have.RR != r.RR || have.Line != r.Line {
			continue
		}
		if have.Type == r.Type && have.Value == r.Value && have.Priority == r.Priority {
			if z.Private {
				return refuse("Record.Invalid.Conflict", "The record conflicts with an existing one.")
			}
			return refuse("DomainRecordDuplicate", "The DNS record already exists.")
		}
		if have.Type == r.Type && r.Type != "CNAME" {
			continue
		}
		if have.Type == "CNAME" || r.Type == "CNAME" {
			if z.Private {
				return refuse("Record.Invalid.Conflict", "The record conflicts with an existing one.")
			}
			return refuse("DomainRecordConflict", "The record conflicts with the existing %s.", have.Type)
		}
	}
	if z.Quota > 0 && id == "" && len(z.records) >= z.Quota {
		return refuse("QuotaExceeded.Record", "The number of records exceeds the limit.")
	}
	return nil
}

func reply(id string, private bool) any {
	if !private {
		return map[string]any{"RecordId": id, "RequestId": "R-1"}
	}
	return map[string]any{"RecordId": mustNumber(id), "RequestId": "R-1", "Success": true}
}

func mustNumber(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		panic(err) // IDs are made here
	}
	return n
}

func add(private bool) func(*Cloud, map[string]string, Fault) (any, *failure) {
	return func(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
		if id, ok := c.tokens[q["ClientToken"]]; ok && private {
			return reply(id, private), nil
		}
		z := c.zones[q["DomainName"]+q["ZoneId"]]
		if z == nil || z.Private != private {
			if private {
				return nil, refuse("Zone.NotExists", "The specified zone does not exist.")
			}
			return nil, refuse("InvalidDomainName.NoExist", "The specified domain name does not exist.")
		}
		r, failed := z.read(q)
		if failed == nil {
			failed = z.fits(r, "")
		}
		if failed != nil {
			return nil, failed
		}
		r.ID = c.id()
		z.before = slices.Clone(z.records)
		z.records = append(z.records, r)
		if private {
			c.tokens[q["ClientToken"]] = r.ID
		}
		return reply(r.ID, private), nil
	}
}

func gone(private bool) *failure {
	if private {
		return refuse("Record.NotExists", "The specified record does not exist.")
	}
	return refuse("DomainRecordNotBelongToUser", "The DNS record does not belong to the user.")
}

func update(private bool) func(*Cloud, map[string]string, Fault) (any, *failure) {
	return func(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
		z, i := c.find(private, q["RecordId"])
		if z == nil {
			return nil, gone(private)
		}
		r, failed := z.read(q)
		if failed != nil {
			return nil, failed
		}
		r.ID = q["RecordId"]
		old := z.records[i]
		if old.Locked {
			return nil, refuse("DomainRecordLocked", "The record is locked.")
		}
		if old.RR == r.RR && old.Type == r.Type && old.Value == r.Value && old.Priority == r.Priority && old.TTL == r.TTL {
			if private {
				return reply(r.ID, private), nil
			}
			return nil, refuse("DomainRecordDuplicate", "The DNS record already exists.")
		}
		if failed := z.fits(r, r.ID); failed != nil {
			return nil, failed
		}
		z.before = slices.Clone(z.records)
		z.records = slices.Clone(z.records)
		z.records[i] = r
		return reply(r.ID, private), nil
	}
}

func remove(private bool) func(*Cloud, map[string]string, Fault) (any, *failure) {
	return func(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
		z, i := c.find(private, q["RecordId"])
		if z == nil {
			return nil, gone(private)
		}
		if z.records[i].Locked {
			return nil, refuse("DomainRecordLocked", "The record is locked.")
		}
		z.before = slices.Clone(z.records)
		z.records = slices.Delete(slices.Clone(z.records), i, i+1)
		return reply(q["RecordId"], private), nil
	}
}
