package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudflare/cloudflare-go/v7/option"
	sdk "github.com/cloudflare/cloudflare-go/v7/zones"

	"github.com/clusterzone/clusterzone/upstream/mirror"
	"github.com/clusterzone/clusterzone/zones"
)

// zonesPage is the most zones that a listing may ask for at once.
const zonesPage = 50

// A zone is what is read of a zone. It is the Handle of a mirror.Zone.
type zone struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Type    string    `json:"type"`
	Created time.Time `json:"created_on"`
	Plan    struct {
		LegacyID string `json:"legacy_id"`
		Name     string `json:"name"`
	} `json:"plan"`
}

func (z *zone) plan() plan { return planOf(z.Plan.LegacyID, z.Plan.Name) }

// writable reports whether the zone's records are Cloudflare's to change: secondary
// zones take theirs from elsewhere.
func (z *zone) writable() bool { return z.Type != "secondary" }

// zoneOf returns what is known of a zone; nothing of one that was never listed.
func zoneOf(of mirror.Zone) *zone {
	if z, ok := of.Handle.(*zone); ok {
		return z
	}
	return &zone{}
}

// Zones implements mirror.Provider.
func (p *provider) Zones(ctx context.Context) ([]mirror.Zone, error) {
	var raw []zone
	if len(p.zoneIDs) > 0 {
		for _, id := range p.zoneIDs {
			one, err := p.client.zone(ctx, id)
			if err == nil && !one.writable() {
				err = errors.New("it is a secondary zone, whose records come from another server: leave it out of --zone-id-filter")
			}
			if err != nil {
				return nil, p.client.listingError("the zone "+id+" of Cloudflare can't be read", err)
			}
			raw = append(raw, *one)
		}
	} else {
		all, err := listAll(func(z *zone) string { return z.ID }, func(n int, into *page[zone]) error {
			return p.client.zonesPage(ctx, n, into)
		})
		if err != nil {
			return nil, p.client.listingError("the zones of Cloudflare can't be listed", err)
		}
		raw = all
	}
	list := make([]mirror.Zone, 0, len(raw))
	for i := range raw {
		z := &raw[i]
		if !z.writable() {
			continue
		}
		name, err := zones.ParseName(z.Name)
		if err != nil {
			return nil, p.client.listingError("the zones of Cloudflare can't be listed", fmt.Errorf("%q is no name: %w", z.Name, err))
		}
		list = append(list, mirror.Zone{ID: z.ID, Name: name, Kind: z.kind(), Handle: z})
	}
	return list, nil
}

// kind tells what is special about a zone.
func (z *zone) kind() string {
	var words []string
	if z.Type != "" && z.Type != "full" {
		words = append(words, z.Type)
	}
	if z.Status != "" && z.Status != "active" {
		words = append(words, z.Status)
	}
	return strings.Join(words, ", ")
}

// place puts a record into the zone with the longest name, and of several of that
// name, as an account has while it moves one, into the one that is active.
func place(_ *mirror.Record, candidates []mirror.Zone) []mirror.Zone {
	for i := range candidates {
		if candidates[i].Name == candidates[0].Name && zoneOf(candidates[i]).Status == "active" {
			return candidates[i : i+1]
		}
	}
	return candidates[:1]
}

func (c *client) zone(ctx context.Context, id string) (*zone, error) {
	var reply struct {
		envelope
		Result zone `json:"result"`
	}
	var query sdk.ZoneGetParams
	query.ZoneID.Value, query.ZoneID.Present = id, true
	err := c.read(ctx, func() error {
		if _, err := c.zones.Get(ctx, query, option.WithResponseBodyInto(&reply)); err != nil {
			return err
		}
		return reply.ok()
	})
	return &reply.Result, err
}

func (c *client) zonesPage(ctx context.Context, n int, into *page[zone]) error {
	var query sdk.ZoneListParams
	query.Page.Value, query.Page.Present = float64(n), true
	query.PerPage.Value, query.PerPage.Present = zonesPage, true
	return c.read(ctx, func() error {
		*into = page[zone]{}
		if _, err := c.zones.List(ctx, query, option.WithResponseBodyInto(into)); err != nil {
			return err
		}
		return into.ok()
	})
}
