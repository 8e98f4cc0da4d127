package alibaba

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

const (
	publicVersion = "2015-01-09"
	domainsPage   = 100 // the most that the API takes, as below
	publicPage    = 500
)

// A publicAPI is Alibaba Cloud DNS. The ID of a zone is its domain name.
type publicAPI struct {
	caller  *caller
	options Options

	mu      sync.Mutex
	minTTLs map[edition]uint32 // that were asked for
}

// An edition is a domain with the product that was bought for it.
type edition struct{ domain, version string }

// A domain is the Handle of public zones.
type domain struct{ minTTL uint32 }

func (a *publicAPI) zones(ctx context.Context) ([]mirror.Zone, error) {
	type entry struct{ DomainName, PunyCode, VersionCode string }
	list, err := pages("the domains of the account", domainsPage, func(e entry) string { return e.DomainName }, func(number int) (page[entry], error) {
		var reply struct {
			TotalCount int
			Domains    struct{ Domain []entry }
		}
		err := a.caller.call(ctx, publicVersion, "DescribeDomains", pageQuery(number, domainsPage), &reply)
		return page[entry]{reply.Domains.Domain, reply.TotalCount}, err
	})
	if err != nil {
		return nil, err
	}
	all := []mirror.Zone{}
	for _, e := range list {
		text := e.PunyCode
		if text == "" {
			text = e.DomainName
		}
		name, err := zones.ParseName(text)
		if err != nil || a.options.Domains != nil && !a.options.Domains(name) {
			continue // no name that is served can lie in a zone whose name is none
		}
		lowest, err := a.minTTL(ctx, edition{e.DomainName, e.VersionCode})
		if err != nil {
			return nil, err
		}
		all = append(all, mirror.Zone{ID: e.DomainName, Name: name, Kind: string(Public), Handle: domain{lowest}})
	}
	return all, nil
}

// minTTL asks what the edition of a domain allows, once. Policies made for
// external-dns don't allow the question, and then the answer is what each edition
// takes.
func (a *publicAPI) minTTL(ctx context.Context, of edition) (uint32, error) {
	if a.options.MinTTL > 0 {
		return a.options.MinTTL, nil
	}
	a.mu.Lock()
	known, ok := a.minTTLs[of]
	a.mu.Unlock()
	if ok {
		return known, nil
	}
	var reply struct{ MinTTL uint32 }
	lowest := uint32(unknownMinTTL)
	switch err := a.caller.call(ctx, publicVersion, "DescribeDomainInfo", map[string]string{"DomainName": of.domain}, &reply); {
	case err == nil && reply.MinTTL > 0:
		lowest = reply.MinTTL
	case err != nil && mirror.ClassOf(listing(err), mirror.Failed) != mirror.Denied:
		return 0, listing(err)
	case err != nil && !errors.As(err, new(*apiError)):
		return 0, err // no credentials at all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.minTTLs[of] = lowest
	return lowest, nil
}

func (a *publicAPI) list(ctx context.Context, zone mirror.Zone, keyword string) ([]object, error) {
	return pages("the records of "+zone.ID, publicPage, func(o object) string { return o.id }, func(number int) (page[object], error) {
		query := pageQuery(number, publicPage)
		query["DomainName"] = zone.ID
		query["Direction"] = "ASC" // the newest last: what is added meanwhile shifts no page
		if keyword != "" {
			query["RRKeyWord"] = keyword
		}
		var reply struct {
			TotalCount    int
			DomainRecords struct {
				Record []struct {
					RecordID, RR, Type, Value, Line, Status string
					TTL                                     uint32
					Priority                                int
					Locked                                  bool
				}
			}
		}
		if err := a.caller.call(ctx, publicVersion, "DescribeDomainRecords", query, &reply); err != nil {
			return page[object]{}, err
		}
		p := page[object]{total: reply.TotalCount}
		for _, r := range reply.DomainRecords.Record {
			p.items = append(p.items, object{r.RecordID, r.RR, r.Type, r.Value, r.Priority, r.TTL, locked(r.Line, r.Status, r.Locked)})
		}
		return p, nil
	})
}

func (a *publicAPI) write(ctx context.Context, zone mirror.Zone, verb mirror.Verb, o object) (string, error) {
	query := map[string]string{}
	if verb != mirror.Create {
		query["RecordId"] = o.id
	}
	if verb != mirror.Delete {
		query["RR"], query["Type"], query["Value"], query["Line"] = o.rr, o.kind, o.value, "default"
		setNumbers(query, "TTL", o)
	}
	action := map[mirror.Verb]string{mirror.Create: "AddDomainRecord", mirror.Update: "UpdateDomainRecord", mirror.Delete: "DeleteDomainRecord"}[verb]
	if verb == mirror.Create {
		query["DomainName"] = zone.ID
	}
	var reply struct{ RecordID string }
	if err := a.caller.call(ctx, publicVersion, action, query, &reply); err != nil {
		return "", writing(err)
	}
	if reply.RecordID == "" && verb == mirror.Create {
		return "", &mirror.Error{Class: mirror.Unknown, Err: fmt.Errorf("%s: the reply has no RecordId", action)}
	}
	return reply.RecordID, nil
}

func pageQuery(number, size int) map[string]string {
	return map[string]string{"PageNumber": strconv.Itoa(number), "PageSize": strconv.Itoa(size)}
}

// setNumbers adds TTL and priority where the object has them.
func setNumbers(query map[string]string, ttl string, o object) {
	if o.ttl > 0 {
		query[ttl] = strconv.FormatUint(uint64(o.ttl), 10)
	}
	if o.priority > 0 {
		query["Priority"] = strconv.Itoa(o.priority)
	}
}
