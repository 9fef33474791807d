-- oldest-program: 0001

-- Programs without the new choices follow such a route in the order of its steps.
alter table routes drop constraint routes_choice_check,
  add check (choice in ('order', 'weights', 'price', 'time'));
