package alibabatest

import (
	"slices"
	"strconv"
	"strings"
)

// slice cuts one page out of a list; sizes outside of the API's are refused.
func slice[T any](q map[string]string, most int, list []T) ([]T, *failure) {
	number, size := 1, 20
	for key, value := range map[string]*int{"PageNumber": &number, "PageSize": &size} {
		if q[key] == "" {
			continue
		}
		n, err := strconv.Atoi(q[key])
		if err != nil || n < 1 {
			return nil, refuse("InvalidParameter", "%s is invalid.", key)
		}
		*value = n
	}
	if size > most {
		return nil, refuse("InvalidParameter", "PageSize is above %d.", most)
	}
	from := min((number-1)*size, len(list))
	return list[from:min(from+size, len(list))], nil
}

func describeDomains(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
	all := c.sortedZones(false)
	list, failed := slice(q, 100, all)
	if failed != nil {
		return nil, failed
	}
	domains := []any{}
	for _, z := range list {
		domains = append(domains, map[string]any{"DomainId": "D-" + z.ID, "DomainName": z.ID, "PunyCode": z.Name, "VersionCode": "v" + strconv.Itoa(int(z.MinTTL)), "RecordCount": len(z.records)})
	}
	return map[string]any{"TotalCount": len(all), "Domains": map[string]any{"Domain": domains}}, nil
}

func describeDomainInfo(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
	z := c.zones[q["DomainName"]]
	if z == nil || z.Private {
		return nil, refuse("InvalidDomainName.NoExist", "The specified domain name does not exist. Refresh the page and try again.")
	}
	return map[string]any{"DomainName": z.ID, "MinTtl": z.MinTTL}, nil
}

func describeZones(c *Cloud, q map[string]string, _ Fault) (any, *failure) {
	all := c.sortedZones(true)
	if (q["QueryVpcId"] == "") != (q["QueryRegionId"] == "") {
		return nil, refuse("InvalidParameter", "QueryVpcId and QueryRegionId go together.")
	}
	if vpc := q["QueryVpcId"]; vpc != "" {
		all = slices.DeleteFunc(all, func(z *held) bool { return z.VPC != vpc })
	}
	list, failed := slice(q, 100, all)
	if failed != nil {
		return nil, failed
	}
	zones := []any{}
	for _, z := range list {
		zones = append(zones, map[string]any{"ZoneId": z.ID, "ZoneName": z.Name, "RecordCount": len(z.records)})
	}
	return map[string]any{"TotalItems": len(all), "Zones": map[string]any{"Zone": zones}}, nil
}

// matching returns the objects whose rr holds the keyword, without "@" and "*" in
// it, which the search takes for nothing; the newest first.
func (z *held) matching(keyword string, fault Fault) []Record {
	list := slices.Clone(z.records)
	if fault.Stale {
		list = slices.Clone(z.before)
	}
	if strings.ContainsAny(keyword, "@*") {
		return nil
	}
	list = slices.DeleteFunc(list, func(r Record) bool { return !strings.Contains(strings.ToLower(r.RR), strings.ToLower(keyword)) })
	slices.Reverse(list)
	return list
}

// lessOne drops the last of a page where the fault says so.
func lessOne(list []Record, fault Fault) []Record {
	if fault.Short && len(list) > 0 {
		return list[:len(list)-1]
	}
	return list
}

func describeDomainRecords(c *Cloud, q map[string]string, fault Fault) (any, *failure) {
	z := c.zones[q["DomainName"]]
	if z == nil || z.Private {
		return nil, refuse("InvalidDomainName.NoExist", "The specified domain name does not exist. Refresh the page and try again.")
	}
	all := z.matching(q["RRKeyWord"], fault)
	if q["Direction"] == "ASC" {
		slices.Reverse(all)
	}
	list, failed := slice(q, 500, all)
	if failed != nil {
		return nil, failed
	}
	records := []any{}
	for _, r := range lessOne(list, fault) {
		record := map[string]any{"RecordId": r.ID, "RR": r.RR, "Type": r.Type, "Value": r.Value, "TTL": r.TTL, "Line": r.Line, "Locked": r.Locked, "Status": "ENABLE", "DomainName": z.ID, "Weight": 1}
		if r.Disabled {
			record["Status"] = "DISABLE"
		}
		if r.Priority > 0 {
			record["Priority"] = r.Priority
		}
		records = append(records, record)
	}
	return map[string]any{"TotalCount": len(all), "DomainRecords": map[string]any{"Record": records}}, nil
}

func describeZoneRecords(c *Cloud, q map[string]string, fault Fault) (any, *failure) {
	z := c.zones[q["ZoneId"]]
	if z == nil || !z.Private {
		return nil, refuse("Zone.NotExists", "The specified zone does not exist.")
	}
	all := z.matching(q["Keyword"], fault)
	list, failed := slice(q, 100, all)
	if failed != nil {
		return nil, failed
	}
	records := []any{}
	for _, r := range lessOne(list, fault) {
		id, err := strconv.ParseInt(r.ID, 10, 64)
		if err != nil {
			return nil, refuse("InternalError", "%v", err)
		}
		record := map[string]any{"RecordId": id, "Rr": r.RR, "Type": r.Type, "Value": r.Value, "Ttl": r.TTL, "Line": r.Line, "Status": "ENABLE", "Weight": 1}
		if r.Disabled {
			record["Status"] = "DISABLE"
		}
		if r.Priority > 0 {
			record["Priority"] = r.Priority
		}
		records = append(records, record)
	}
	return map[string]any{"TotalItems": len(all), "Records": map[string]any{"Record": records}}, nil
}
