// A click on a heading sorts its table, and the title of a mark is shown beside the pointer. Without scripts the page
// still works: tables keep their order, and browsers show titles by themselves.
document.documentElement.classList.add('js');
document.querySelectorAll('table').forEach(function(t){t.querySelectorAll('th').forEach(function(h,i){h.tabIndex=0;
  function sort(){var up=h.getAttribute('aria-sort')==='descending',b=t.tBodies[0],rows=Array.prototype.slice.call(b.rows);
    t.querySelectorAll('th').forEach(function(o){o.removeAttribute('aria-sort')});h.setAttribute('aria-sort',up?'ascending':'descending');
    function key(r){var c=r.cells[i],v=c.getAttribute('data-v');return v===null?c.textContent.toLowerCase():v===''?-Infinity:parseFloat(v)}
    rows.sort(function(x,y){var a=key(x),c=key(y);return (a<c?-1:a>c?1:0)*(up?1:-1)}).forEach(function(r){b.appendChild(r)})}
  h.addEventListener('click',sort);h.addEventListener('keydown',function(e){if(e.key==='Enter'||e.key===' '){e.preventDefault();sort()}})})});
(function(){var tip=document.createElement('div');tip.id='tip';document.body.appendChild(tip);
  document.querySelectorAll('.mark').forEach(function(m){var t=m.querySelector('title'),words=t.textContent;
    m.addEventListener('pointerenter',function(){t.textContent='';tip.textContent=words;tip.style.display='block'});
    m.addEventListener('pointermove',function(e){tip.style.left=Math.max(4,Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8))+'px';
      tip.style.top=(e.clientY+tip.offsetHeight+26>innerHeight?e.clientY-tip.offsetHeight-10:e.clientY+18)+'px'});
    m.addEventListener('pointerleave',function(){t.textContent=words;tip.style.display='none'})})})();
