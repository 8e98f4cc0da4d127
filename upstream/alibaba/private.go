package alibaba

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

const (
	privateVersion = "2018-01-01"
	privatePage    = 100 // the most that the API takes
)

// A privateAPI is PrivateZone. Zones of one name are told apart by their IDs.
type privateAPI struct {
	caller      *caller
	vpc, region string // "" for the zones of all
}

func (a *privateAPI) zones(ctx context.Context) ([]mirror.Zone, error) {
	type entry struct{ ZoneID, ZoneName string } // encoding/json reads names in any case
	list, err := pages("the private zones of the account", privatePage, func(e entry) string { return e.ZoneID }, func(number int) (page[entry], error) {
		query := pageQuery(number, privatePage)
		if a.vpc != "" {
			query["QueryVpcId"], query["QueryRegionId"] = a.vpc, a.region
		}
		var reply struct {
			TotalItems int
			Zones      struct{ Zone []entry }
		}
		err := a.caller.call(ctx, privateVersion, "DescribeZones", query, &reply)
		return page[entry]{reply.Zones.Zone, reply.TotalItems}, err
	})
	if err != nil {
		return nil, err
	}
	all := []mirror.Zone{}
	for _, e := range list {
		name, err := zones.ParseName(e.ZoneName)
		if err != nil {
			continue // as in public zones
		}
		all = append(all, mirror.Zone{ID: e.ZoneID, Name: name, Kind: string(Private)})
	}
	return all, nil
}

func (a *privateAPI) list(ctx context.Context, zone mirror.Zone, keyword string) ([]object, error) {
	return pages("the records of "+zone.ID, privatePage, func(o object) string { return o.id }, func(number int) (page[object], error) {
		query := pageQuery(number, privatePage)
		query["ZoneId"] = zone.ID
		if keyword != "" {
			query["Keyword"], query["SearchMode"] = keyword, "LIKE"
		}
		var reply struct {
			TotalItems int
			Records    struct {
				Record []struct {
					RecordID                      json.Number
					Rr, Type, Value, Line, Status string
					TTL                           uint32
					Priority                      int
				}
			}
		}
		if err := a.caller.call(ctx, privateVersion, "DescribeZoneRecords", query, &reply); err != nil {
			return page[object]{}, err
		}
		p := page[object]{total: reply.TotalItems}
		for _, r := range reply.Records.Record {
			p.items = append(p.items, object{r.RecordID.String(), r.Rr, r.Type, r.Value, r.Priority, r.TTL, locked(r.Line, r.Status, false)})
		}
		return p, nil
	})
}

func (a *privateAPI) write(ctx context.Context, zone mirror.Zone, verb mirror.Verb, o object) (string, error) {
	// The token makes the calls that the caller sends again after throttling one.
	query := map[string]string{"ClientToken": rand.Text()}
	if verb == mirror.Create {
		query["ZoneId"] = zone.ID
	} else {
		query["RecordId"] = o.id
	}
	if verb != mirror.Delete {
		query["Rr"], query["Type"], query["Value"] = o.rr, o.kind, o.value
		setNumbers(query, "Ttl", o)
	}
	action := map[mirror.Verb]string{mirror.Create: "AddZoneRecord", mirror.Update: "UpdateZoneRecord", mirror.Delete: "DeleteZoneRecord"}[verb]
	var reply struct{ RecordID json.Number }
	if err := a.caller.call(ctx, privateVersion, action, query, &reply); err != nil {
		return "", writing(err)
	}
	if reply.RecordID == "" && verb == mirror.Create {
		return "", &mirror.Error{Class: mirror.Unknown, Err: fmt.Errorf("%s: the reply has no RecordId", action)}
	}
	return reply.RecordID.String(), nil
}
